"""The planning problem in rational arithmetic: a textbook tableau with Bland's rule, slow and exact."""

from fractions import Fraction

import numpy as np


def _pivot(tableau, basis, row, column):
    pivot = tableau[row][column]
    tableau[row] = [entry / pivot for entry in tableau[row]]
    for other, entries in enumerate(tableau):
        if other != row and entries[column] != 0:
            factor = entries[column]
            tableau[other] = [entry - factor * own for entry, own in zip(entries, tableau[row], strict=True)]
    basis[row] = column


def _maximise(tableau, basis, allowed):
    """Bland's rule on a tableau whose last row holds the reduced costs and whose last column the values."""
    while True:
        entering = next((column for column in allowed if tableau[-1][column] > 0), None)
        if entering is None:
            return
        ratios = [
            (entries[-1] / entries[entering], basis[row], row)
            for row, entries in enumerate(tableau[:-1])
            if entries[entering] > 0
        ]
        assert ratios, "shares are bounded, so some column always blocks"
        _pivot(tableau, basis, min(ratios)[2], entering)


def exact_plan(objective, revenue, floors, members=None, available=None):
    """(least total shortfall, most revenue among the allocations that fall short by no more), as fractions.

    `objective` and `revenue` are weighted means, K x C; `floors` are those of arms, then of groups (`members`, G x K).
    """
    objective = [[Fraction(float(x)) for x in row] for row in np.asarray(objective)]
    revenue = [[Fraction(float(x)) for x in row] for row in np.asarray(revenue)]
    floors = [Fraction(float(x)) for x in floors]
    n_arms, n_contexts = len(objective), len(objective[0])
    open_pairs = np.ones((n_arms, n_contexts), dtype=bool) if available is None else available
    pairs = [(k, c) for k in range(n_arms) for c in range(n_contexts) if open_pairs[k, c]]
    counted = [{arm} for arm in range(n_arms)]
    counted += [] if members is None else [set(np.flatnonzero(row).tolist()) for row in members]
    n_rows = len(floors)
    # Columns: pairs, surpluses, shortfalls, artificial ones for the contexts, values.
    surplus, shortfall = len(pairs), len(pairs) + n_rows
    artificial = shortfall + n_rows
    width = artificial + n_contexts + 1
    tableau, basis = [], []
    for row in range(n_rows):
        entries = [Fraction(0)] * width
        for place, (k, c) in enumerate(pairs):
            if k in counted[row]:
                entries[place] = revenue[k][c]
        entries[surplus + row], entries[shortfall + row], entries[-1] = Fraction(-1), Fraction(1), floors[row]
        basis.append(shortfall + row)
        if floors[row] < 0:
            entries = [-entry for entry in entries]
            basis[-1] = surplus + row
        tableau.append(entries)
    for context in range(n_contexts):
        entries = [Fraction(0)] * width
        for place, (_, c) in enumerate(pairs):
            entries[place] = Fraction(int(c == context))
        entries[artificial + context], entries[-1] = Fraction(1), Fraction(1)
        basis.append(artificial + context)
        tableau.append(entries)

    def run(costs, allowed):
        """Maximise costs . x over the allowed columns from the basis at hand; return the reduced costs."""
        entries = list(costs)
        for row, column in enumerate(basis):
            factor = entries[column]
            if factor != 0:
                entries = [entry - factor * own for entry, own in zip(entries, tableau[row], strict=True)]
        tableau.append(entries)
        _maximise(tableau, basis, allowed)
        return tableau.pop()

    def costs_of(first, last, value):
        costs = [Fraction(0)] * width
        costs[first:last] = [Fraction(value)] * (last - first)
        return costs

    columns = range(artificial)
    run(costs_of(artificial, width - 1, -1), columns)  # columns sum to 1
    for row in range(n_rows, len(basis)):  # no artificial column may stay basic, not even at zero
        if basis[row] >= artificial:
            _pivot(tableau, basis, row, next(column for column in columns if tableau[row][column] != 0))
    reduced = run(costs_of(shortfall, artificial, -1), columns)
    least = reduced[-1]
    face = [column for column in columns if reduced[column] == 0]
    costs = [Fraction(0)] * width
    for place, (k, c) in enumerate(pairs):
        costs[place] = objective[k][c]
    return least, -run(costs, face)[-1]


def exact_share(objective, revenue, floors, members=None, available=None):
    """(largest share of every floor above zero, most revenue of a plan that gives it), as fractions.

    Arguments are those of `exact_plan`; floors of zero ask for nothing, and those below zero are asked for whole. None,
    if floors conflict at any share.
    """
    objective = [[Fraction(float(x)) for x in row] for row in np.asarray(objective)]
    revenue = [[Fraction(float(x)) for x in row] for row in np.asarray(revenue)]
    n_arms, n_contexts = len(objective), len(objective[0])
    open_pairs = np.ones((n_arms, n_contexts), dtype=bool) if available is None else available
    pairs = [(k, c) for k in range(n_arms) for c in range(n_contexts) if open_pairs[k, c]]
    counted = [{arm} for arm in range(n_arms)]
    counted += [] if members is None else [set(np.flatnonzero(row).tolist()) for row in members]
    rows = [(Fraction(float(floor)), arms) for floor, arms in zip(floors, counted, strict=True) if floor != 0]
    # Columns: pairs, surpluses, the share less its opposite, artificial ones for all rows, values.
    surplus = len(pairs)
    share = surplus + len(rows)
    artificial = share + 2
    n_all = len(rows) + n_contexts
    width = artificial + n_all + 1
    tableau = []
    for row, (floor, arms) in enumerate(rows):
        entries = [revenue[k][c] if k in arms else Fraction(0) for k, c in pairs]
        entries += [Fraction(0)] * (width - len(entries))
        entries[surplus + row] = Fraction(-1)
        if floor > 0:
            entries[share], entries[share + 1] = -floor, floor
        else:
            entries[-1] = floor
            entries = [-entry for entry in entries]
        tableau.append(entries)
    for context in range(n_contexts):
        entries = [Fraction(int(c == context)) for _, c in pairs]
        tableau.append(entries + [Fraction(0)] * (width - len(entries) - 1) + [Fraction(1)])
    for row, entries in enumerate(tableau):
        entries[artificial + row] = Fraction(1)
    basis = list(range(artificial, artificial + n_all))

    def run(costs, allowed):
        for row, column in enumerate(basis):
            factor = costs[column]
            if factor != 0:
                costs = [entry - factor * own for entry, own in zip(costs, tableau[row], strict=True)]
        tableau.append(costs)
        _maximise(tableau, basis, allowed)
        return tableau.pop()

    columns = range(artificial)
    if run([Fraction(0)] * artificial + [Fraction(-1)] * n_all + [Fraction(0)], columns)[-1] != 0:
        return None
    for row in range(n_all):  # a row that is the sum of others has nothing to exchange its artificial column for
        if basis[row] >= artificial:
            entering = next((column for column in columns if tableau[row][column] != 0), None)
            if entering is not None:
                _pivot(tableau, basis, row, entering)
    costs = [Fraction(0)] * width
    costs[share], costs[share + 1] = Fraction(1), Fraction(-1)
    reduced = run(costs, columns)
    face = [column for column in columns if reduced[column] == 0]
    costs = [objective[k][c] for k, c in pairs]
    return -reduced[-1], -run(costs + [Fraction(0)] * (width - len(costs)), face)[-1]
