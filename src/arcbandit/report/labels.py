"""Where to put the names at the ends of lines, so that none overlap."""

from collections.abc import Sequence


def spread(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Centres, from 0 to 1, of boxes of these heights that do not overlap, as near as possible to those wanted.

    Boxes that touch move as one block, to the mean of what its members want.
    """
    order = sorted(range(len(wanted)), key=lambda place: (wanted[place], place))
    blocks: list[tuple[float, list[int]]] = []  # bottom edge, members from the bottom up
    for place in order:
        members = [place]
        bottom = _bottom_of_block(members, wanted, heights)
        while blocks and blocks[-1][0] + sum(heights[member] for member in blocks[-1][1]) > bottom:
            members = blocks.pop()[1] + members
            bottom = _bottom_of_block(members, wanted, heights)
        blocks.append((bottom, members))
    centres = [0.0] * len(wanted)
    for bottom, members in blocks:
        for member in members:
            centres[member] = bottom + heights[member] / 2
            bottom += heights[member]
    return centres


def _bottom_of_block(members: Sequence[int], wanted: Sequence[float], heights: Sequence[float]) -> float:
    offset = 0.0
    total = 0.0
    for member in members:
        total += wanted[member] - offset - heights[member] / 2
        offset += heights[member]
    return min(max(total / len(members), 0.0), max(1.0 - offset, 0.0))
