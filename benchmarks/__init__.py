"""Frozen, seeded workloads: how long we take, beside how wrong we are and beside how long others take.

One file per subject, each with a tuple `WORKLOADS`; a new subject is one file and one entry in `SUBJECTS` of
`__main__`. Compilation and the building of problems stay outside the clock, alternatives take turns with ours in the
same run, and the ratio of the two is the headline: it moves less than either time when the machine is busy.
"""
