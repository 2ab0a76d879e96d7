import inspect
import pickle

import pytest

from arcbandit import errors

DELIBERATE = [value for _, value in inspect.getmembers(errors, inspect.isclass) if issubclass(value, Exception)]

EXAMPLES = [
    errors.InvalidInputError("horizon must be positive, got 0."),
    errors.InvalidInstanceError("arms must be unique, got 'a' at positions 0 and 1."),
    errors.UnknownNameError("arm must be one of 'a', 'b', got 'c'."),
    errors.InfeasibleError("No allocation meets the floors.", conflicting_floors=("a",), least_shortfall=0.5),
    errors.EnumerationLimitError("924 sets exceed the limit of 10.", count=924, limit=10),
    errors.PlanningError("The solver stopped after 100 pivots."),
    errors.MissingExtraError("highspy", "reference"),
    errors.ServiceError("There is no such context.", 404, "unknown_context", "context"),
    errors.ServiceUnavailableError("The service did not answer.", 503, "overloaded"),
]


@pytest.mark.parametrize("error", DELIBERATE)
def test_every_deliberate_exception_has_one_base(error):
    """Catching ArcbanditError catches everything the library raises on purpose; warnings have a base of their own."""
    base = errors.ArcbanditWarning if issubclass(error, Warning) else errors.ArcbanditError
    assert issubclass(error, base)


@pytest.mark.parametrize("error", DELIBERATE)
def test_the_tree_in_the_docstring_names_every_exception(error):
    """An exception that is added must be drawn."""
    assert error.__name__ in errors.__doc__


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.InvalidInputError, ValueError),
        (errors.InvalidInstanceError, ValueError),
        (errors.UnknownNameError, LookupError),
        (errors.UnknownNameError, ValueError),
        (errors.MissingExtraError, ImportError),
    ],
)
def test_exceptions_are_also_what_python_would_raise(error, builtin):
    """Callers that know only the built-in exceptions still catch ours."""
    assert issubclass(error, builtin)


def test_an_unknown_name_prints_its_plain_sentence():
    """A lookup error must not wrap its message in quotes, as KeyError does."""
    assert str(errors.UnknownNameError("arm must be one of 'a', got 'b'.")) == "arm must be one of 'a', got 'b'."


def test_an_infeasible_error_says_which_floors_conflict_and_by_how_much():
    """What a caller needs to act on stands in attributes, not only in the sentence."""
    error = errors.InfeasibleError("No.", conflicting_floors=("1", "europe"), least_shortfall=0.25)
    assert error.conflicting_floors == ("1", "europe")
    assert error.least_shortfall == 0.25


def test_a_missing_extra_says_what_to_install():
    """The message can be followed without reading the docs."""
    error = errors.MissingExtraError("highspy", "reference")
    assert "highspy is not installed" in str(error)
    assert "arcbandit[reference]" in str(error)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_exceptions_survive_the_way_from_a_worker_process(error):
    """Message and attributes are the same after pickling."""
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
