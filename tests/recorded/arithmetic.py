"""Whose arithmetic this process has: exp, log and the like are the C library's, and differ in their last bits."""

import hashlib
import json
import math
import platform
import struct


def arithmetic():
    """The machine, its C library, and the bits of the functions that kernels call.

    One release of a library may round in two ways, by what the processor offers: its name alone says too little.
    """
    points = [math.ldexp(0.5 + place / 6000, place % 41 - 20) for place in range(3000)]
    sha = hashlib.sha256()
    for function in (math.log, math.sqrt, math.cos, math.sin):
        sha.update(struct.pack(f"{len(points)}d", *map(function, points)))
    sha.update(struct.pack(f"{len(points)}d", *(math.exp(-point % 30.0) for point in points)))
    return {
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "functions": sha.hexdigest()[:24],
    }


if __name__ == "__main__":
    print(json.dumps(arithmetic(), indent=1))
