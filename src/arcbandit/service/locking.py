"""A lock on a file that ends with the process, as each platform has it."""

import sys

if sys.platform == "win32":
    import msvcrt

    def lock(descriptor: int) -> None:
        """Take an open file for this process alone; OSError if another has it."""
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def lock(descriptor: int) -> None:
        """Take an open file for this process alone; OSError if another has it."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
