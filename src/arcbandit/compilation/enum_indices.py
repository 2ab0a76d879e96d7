"""Members of an IntEnum as indices of arrays, which Numba accepts from 0.68 on, and numba-cuda not yet."""

from typing import Any

import numba
from numba.core import types
from numba.core.typing import arraydecl

FIRST_TO_ACCEPT = (0, 68)

typing: Any = arraydecl


def members_as_integers(index: Any) -> Any:
    """The type of an index, with integers for members of an IntEnum."""
    if isinstance(index, types.BaseTuple):
        parts: Any = index
        return types.Tuple([members_as_integers(part) for part in parts])
    return types.intp if isinstance(index, types.IntEnumMember) else index


def accept_members() -> None:
    """Let this process's Numba accept members as indices, if it does not by itself."""
    release: Any = numba
    if tuple(release.version_info.short) >= FIRST_TO_ACCEPT:
        return
    type_of_index = typing.get_array_index_type
    typing.get_array_index_type = lambda array, index: type_of_index(array, members_as_integers(index))
