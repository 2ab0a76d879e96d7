"""Which stream of random numbers a policy draws from: workers that share a seed have one each."""

import secrets

import numpy as np

SEED_BITS = 63  # kernels take a seed as a signed 64-bit number


def system_seed() -> int:
    """A seed from the operating system."""
    return secrets.randbits(SEED_BITS)


def stream_of_worker(seed: int, worker: int) -> int:
    """The seed of a worker's stream: for worker 0 the seed itself, as in a simulation."""
    return seed if worker == 0 else _derived(seed, worker)


def stream_of_successor(stream: int, worker: int, decisions: int, rewards: int) -> int:
    """The seed of the stream on which `worker` continues from another worker's snapshot.

    It depends on how far that other worker had come. Otherwise a worker that restores one newer snapshot after another,
    and decides more often in between than the other worker does, would draw its own earlier numbers again.
    """
    return _derived(stream, worker, decisions, rewards)


def _derived(seed: int, *key: int) -> int:
    (word,) = np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)
    return int(word) >> (64 - SEED_BITS)
