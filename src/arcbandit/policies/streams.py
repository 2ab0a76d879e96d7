"""Which stream of random numbers a policy draws from: one of its own for every worker that shares a seed."""

import secrets

import numpy as np

SEED_BITS = 63  # kernels take a seed as a signed number of 64 bits


def system_seed() -> int:
    """A seed from the operating system."""
    return secrets.randbits(SEED_BITS)


def stream_of_worker(seed: int, worker: int) -> int:
    """The seed of a worker's stream: for worker 0 the seed itself, as in a simulation."""
    return seed if worker == 0 else _derived(seed, worker)


def stream_of_successor(stream: int, worker: int, decisions: int, rewards: int) -> int:
    """The seed of the stream on which `worker` goes on with what another worker knows.

    It depends on how far that worker had come: one that takes up newer and newer snapshots of another, and has made
    more decisions meanwhile than the other had, would meet its own earlier numbers again otherwise.
    """
    return _derived(stream, worker, decisions, rewards)


def _derived(seed: int, *key: int) -> int:
    (word,) = np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)
    return int(word) >> (64 - SEED_BITS)
