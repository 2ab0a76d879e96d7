"""Names that somebody may have meant: what an error adds after a name that is not known."""

import inspect
import itertools
from collections.abc import Callable, Iterable

MOST_NAMES_COMPARED = 5_000  # comparing more would make an error slow
LEAST_LIKENESS = 0.6  # 1 is the same letters in the same order
# What people call a parameter that has another name here.
OTHER_WORDS = {
    "budget": "exploration_budget",
    "floors": "revenue_floors",
    "gpu": "cuda",
    "half_life": "memory",
    "lambda": "revenue_floors",
    "means": "mean_rewards",
    "mu": "mean_rewards",
    "n_epochs": "epochs",
    "n_jobs": "jobs",
    "noise": "noise_scale",
    "p": "context_probabilities",
    "probabilities": "context_probabilities",
    "random_state": "seed",
    "sigma": "noise_scale",
    "std": "noise_scale",
    "t": "horizon",
    "σ": "noise_scale",
}


def did_you_mean(given: object, known: Iterable[object]) -> str:
    """The words " (did you mean 'blp'?)" if `given` may stand for that known name, otherwise nothing.

    Case, blanks, hyphens and underscores do not count.

    >>> did_you_mean("BPL", ["olp", "blp"])
    " (did you mean 'blp'?)"
    >>> did_you_mean("sigma", ["noise_scale", "seed"])
    " (did you mean 'noise_scale'?)"
    >>> did_you_mean("cautious", ["seed"])
    ''
    """
    name = meant(given, known)
    return "" if name is None else f" (did you mean {name!r}?)"


def meant(given: object, known: Iterable[object]) -> str | None:
    """The known name that is most like the given one, if any is."""
    if not isinstance(given, str) or not any(map(str.isalpha, given)):  # no number is a misspelt one
        return None
    import difflib  # here, for it is needed for errors alone

    names: dict[str, str] = {}
    for name in itertools.islice(known, MOST_NAMES_COMPARED):
        if isinstance(name, str):
            names.setdefault(_bare(name), name)
    other = OTHER_WORDS.get(given.strip().lower())
    if other is not None and _bare(other) in names:
        return names[_bare(other)]
    found = difflib.get_close_matches(_bare(given)[:200], names, n=1, cutoff=LEAST_LIKENESS)
    return names[found[0]] if found and names[found[0]] != given else None


def refuse_keywords(function: Callable[..., object], unknown: Iterable[str]) -> None:
    """Refuse keywords that a function has no parameter for, as Python would, with a hint to the one that was meant."""
    for name in unknown:
        hint = did_you_mean(name, inspect.signature(function).parameters)
        raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}")


def _bare(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter not in " -_")
