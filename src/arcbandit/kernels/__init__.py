"""Arithmetic on arrays: no allocation, no input or output, no randomness, no exceptions."""
