"""The words that a simulation may be told, for type checkers and for the command line, which loads nothing else."""

from typing import Literal

Device = Literal["cpu", "cuda", "auto"]
Keep = Literal["epochs", "summary"]
Rewards = Literal["gaussian", "bernoulli"]
