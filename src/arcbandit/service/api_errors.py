"""Errors of the HTTP API: one shape, a code that programs read, a sentence that people read."""

import re

import msgspec

from arcbandit.errors import InvalidInputError, StaleError, StoreError, StoreFullError
from arcbandit.service.api_types import ErrorAnswer, ErrorBody

RETRY_AFTER_SECONDS = 1
_PLACE = re.compile(r" - at `(?:key in )?\$?([^`]*)`$")


class ApiError(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.field = field

    @property
    def body(self) -> ErrorBody:
        """What is wrong."""
        return ErrorBody(self.code, str(self), self.field)

    def content(self) -> bytes:
        """The body of the answer."""
        return msgspec.json.encode(ErrorAnswer(self.body))


def invalid(message: str, field: str | None = None) -> ApiError:
    """Something in the body breaks a rule."""
    return ApiError(422, "invalid", message, field)


def overloaded(message: str = "Too much is asked at once.") -> ApiError:
    """Come back later; nothing was done."""
    return ApiError(503, "overloaded", message)


def of_decoding(error: Exception) -> ApiError:
    """A body that is not JSON, or not what it must be."""
    if isinstance(error, msgspec.ValidationError):
        text = str(error)
        place = _PLACE.search(text)
        field = place.group(1).lstrip(".") if place and place.group(1) else None
        return invalid(f"{_PLACE.sub('', text)}.", field)
    if isinstance(error, RecursionError):
        return ApiError(400, "malformed", "The body is nested too deeply.")
    return ApiError(400, "malformed", f"The body is not JSON: {error}.")


def of_store(error: StoreError) -> ApiError:
    """A store that could not do what it was asked."""
    if isinstance(error, StaleError):
        return ApiError(409, "stale", str(error))
    if isinstance(error, StoreFullError):
        return ApiError(503, "store_full", f"{error} Nothing was stored.")
    return ApiError(503, "store_failed", "The store failed. Whether anything was stored is not known.")


def of_library(error: InvalidInputError) -> ApiError:
    """Something that the library refuses."""
    return invalid(str(error))
