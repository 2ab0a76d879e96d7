"""Rounds in compiled code: randomness, the loop, epochs in parallel, and the trace they leave."""
