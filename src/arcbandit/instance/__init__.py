"""The problem: mean rewards, floors and context probabilities, checked once, and its files."""

from arcbandit.floors import GroupFloor
from arcbandit.instance.instance import Instance

__all__ = ["GroupFloor", "Instance"]
