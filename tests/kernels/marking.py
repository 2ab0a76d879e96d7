"""Marks of changed pairs, set from Python."""

from arcbandit.kernels import marks

mark_pair = getattr(marks.mark_pair, "py_func", marks.mark_pair)
