"""The priced LP as it is defined: whole matrices, HiGHS for both programs, a root finder for the margins."""

import math
from statistics import NormalDist

import numpy as np
from scipy.optimize import brentq, linprog

MOST_SHORTFALL_PRICE = 1000.0
BONUS_HEAD_START, MEAN_HEAD_START = 1e-6, 1e-2  # of the last pair over the first, where as little is known of both
EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": False}
NORMAL = NormalDist()


def solve_soft(objective, rows, floors, available, price, extra=None):
    """Maximise sum objective * w - price * shortfall over allocations w: (w, prices of the floors, shortfalls).

    `rows` are the coefficients of the floors, shape (M, K, C); a floor of None asks for nothing. `extra` is a further
    row with its floor, whose shortfall costs 1.
    """
    n_arms, n_contexts = available.shape
    n_pairs = n_arms * n_contexts
    asked = [m for m, floor in enumerate(floors) if floor is not None]
    matrix = [rows[m].ravel() for m in asked]
    wanted = [floors[m] for m in asked]
    costs = [price] * len(asked)
    if extra is not None:
        matrix.append(extra[0].ravel())
        wanted.append(extra[1])
        costs.append(1.0)
    columns = np.zeros((n_contexts, n_pairs + len(wanted)))
    for context in range(n_contexts):
        columns[context, context:n_pairs:n_contexts] = 1.0
    found = linprog(
        np.concatenate([-objective.ravel(), costs]),
        A_ub=np.hstack([-np.array(matrix), -np.eye(len(wanted))]) if wanted else None,
        b_ub=-np.array(wanted) if wanted else None,
        A_eq=columns,
        b_eq=np.ones(n_contexts),
        bounds=[(0, 1 if ok else 0) for ok in available.ravel()] + [(0, None)] * len(wanted),
        method="highs-ds",
        options=EXACT,
    )
    assert found.status == 0, found.message
    prices, short = np.zeros(len(floors)), np.zeros(len(floors))
    if asked:
        prices[asked] = np.maximum(-found.ineqlin.marginals[: len(asked)], 0.0)
        short[asked] = found.x[n_pairs : n_pairs + len(asked)]
    return found.x[:n_pairs].reshape(n_arms, n_contexts), prices, short


class PricedTwin:
    """The rule for floors of arms, then of groups, by a matrix of members, shape (M, K); a floor of 0 asks nothing."""

    def __init__(
        self,
        probabilities,
        floors,
        members,
        available,
        noise_scale,
        *,
        exploration=0.5**0.5,
        violation_weight=1.0,
        price_memory=0.02,
        price_reach=1.0,
        price_caution=0.2,
        count_floor=0.02,
        count_reach=0.5,
        replan=0,
    ):
        self.p = np.array(probabilities, dtype=float)
        self.floors = np.array(floors, dtype=float)
        self.members = np.array(members, dtype=bool)
        self.available = np.array(available, dtype=bool)
        self.sigma = noise_scale
        self.exploration, self.weight, self.memory = exploration, violation_weight, price_memory
        self.price_reach, self.price_caution = price_reach, price_caution
        self.count_floor, self.count_reach = count_floor, count_reach
        self.replan = replan
        shape = self.available.shape
        self.n, self.sums, self.visits = np.zeros(shape), np.zeros(shape), np.zeros(shape[1])
        self.centre, self.prior, self.refreshed, self.moved = 0.0, 1.0, 0, 0
        n_rows = len(self.floors)
        self.average_plan, self.average_cost = np.zeros(shape), 0.0
        self.average_price, self.z, self.error = np.zeros(n_rows), np.zeros(n_rows), np.zeros(n_rows)

    def learn(self, context, arm, reward):
        self.n[arm, context] += 1
        self.sums[arm, context] += reward

    def shrink(self, t):
        """Step 0: the centre m0 and the weight tau of what pairs are shrunk to."""
        if t > 200 and t - self.refreshed < 50:
            return
        self.refreshed = t
        played = (self.n > 0) & self.available
        count = played.sum()
        means = self.sums[played] / self.n[played]
        self.centre = means.mean() if count else 0.0
        spread = 4 * self.sigma**2 + self.centre**2
        if count > 1:
            excess = (means - self.centre) ** 2 - self.sigma**2 / self.n[played]
            spread = max(excess.sum() / (count - 1), self.sigma**2)
        self.prior = min(1.0, self.sigma**2 / spread)

    def allocate(self, context, t):
        """The allocation of round t; the state moves on."""
        self.visits[context] += 1
        self.shrink(t)
        played = self.n > 0
        n = np.where(played, self.n + self.prior, self.prior)
        places = np.arange(played.size).reshape(played.shape) / played.size
        unknown = self.centre + MEAN_HEAD_START * (self.sigma + abs(self.centre)) * places
        mean = np.where(played, (self.sums + self.prior * self.centre) / n, unknown)
        full = self.sigma * np.sqrt(2 * math.log(2 * self.available.size * t) / n)
        # Rewards of a log may have come without a visit.
        visits = np.maximum(self.visits, np.minimum(self.n.sum(axis=0), t))
        usual = np.log1p(visits / n)
        usual += np.maximum(usual - 5, 0) * np.minimum(4 / n, 1)  # a pair with few plays that is left alone
        many = np.log1p(visits)
        revenue = self.p * mean
        # What a margin takes per unit of each pair's share, per unit of z over the standard error.
        taken = self.p**2 * self.sigma**2 * self.average_plan / n
        n_arms = self.available.shape[0]
        most = max(MOST_SHORTFALL_PRICE, 10 * self.weight) * (1 + math.log(t))

        def first_program():
            slope = np.where(self.error > 0, self.z / np.where(self.error > 0, self.error, 1.0), 0.0)
            rows = np.array([(revenue - slope[:n_arms, None] * taken) * who[:, None] for who in self.members])
            # A group's margin stands on the right-hand side, less what those of its members take already.
            floors = self.floors.copy()
            for m in range(n_arms, len(floors)):
                of_members = (self.z[:n_arms] * self.error[:n_arms])[self.members[m]].sum()
                floors[m] += self.z[m] * self.error[m] - of_members
            asked = [amount if told else None for amount, told in zip(floors, self.floors > 0, strict=True)]
            return rows, floors, asked, *solve_soft(revenue, rows, asked, self.available, most)

        rows, floors, asked, first, prices, short = first_program()
        if short.max(initial=0.0) > 1e-9 and (self.z > 0).any():
            with_margins = self.z
            self.z = np.minimum(self.z, 0.0)  # the means cannot meet the floors with their margins
            rows, floors, asked, first, prices, short = first_program()
            if short.max(initial=0.0) > 1e-9:
                self.z = with_margins  # nor without them
                rows, floors, asked, first, prices, short = first_program()
        earned = (revenue * first).sum()
        worth = 1 + prices @ self.members
        cost = 0.0
        is_short = short.max(initial=0.0) > 1e-9
        if is_short:
            hoped = revenue + self.p * worth[:, None] * full * (1 + BONUS_HEAD_START * places)
            plan, _, _ = solve_soft(hoped, rows, asked, self.available, most)
        else:
            dearest = max(1.0, prices.max(initial=0.0) / self.weight)
            of_price = self.price_reach * math.log(dearest)
            more = usual + 4 * np.maximum(many + of_price / 2 - 10, 0)
            usual = np.minimum(more, np.maximum(2 * many, usual))
            explored = 2 * np.where(played, usual, math.log(2 * self.available.size * t)) / n
            radius = self.sigma * np.sqrt(self.exploration**2 * explored + 2 * of_price / n)
            bonus = self.p * worth[:, None] * radius * (1 + BONUS_HEAD_START * places) / dearest
            plan, _, _ = solve_soft(bonus, rows, asked, self.available, self.weight, (revenue, earned))
            surplus = (rows * plan).sum(axis=(1, 2)) - floors
            cost = max(0.0, (revenue * (first - plan)).sum() - prices @ surplus)
        stood = t - self.moved
        stands = max(stood, self.replan)
        self.margins(prices, is_short, first, cost, n, t)
        played_plan = plan.copy()
        if stood > 2:  # pairs are played at most as often again as they were
            more = (plan - first) * self.p * stands
            with np.errstate(divide="ignore"):
                allowed = np.where(more > 0, np.maximum(self.n, 1) / np.where(more > 0, more, 1.0), np.inf)
            played_plan = first + min(1.0, allowed.min()) * (plan - first)
        fresh = self.available & ~played
        for column in np.flatnonzero(fresh.any(axis=0)):
            played_plan[:, column] = fresh[:, column] / fresh[:, column].sum()
        if self.count_floor > 0 and self.moved == t and not fresh.any():
            best = np.where(self.available, worth[:, None] * mean, -np.inf).max(axis=0)
            few = self.available & (self.n < self.count_floor * math.log(1 + t) ** 2)
            few &= worth[:, None] * (mean + self.count_reach * full) >= best
            for column in np.flatnonzero(few.any(axis=0)):
                held = few[:, column] / few[:, column].sum()
                played_plan[:, column] += self.part * (held - played_plan[:, column])
        return played_plan

    def margins(self, prices, is_short, first, cost, n, t):
        """Step 4, later on in every other round; a plan stands for all rounds since the last one."""
        if t > 200 and t - self.moved < 2:
            return
        moved = self.moved
        share = 1 - (1 - self.memory) ** max(1, t - moved)
        stands = max(t - moved, self.replan) if t - moved > 2 else t - moved
        self.part = 2 / max(2, stands)  # of the rounds, in which pairs with few plays are played
        self.moved = t
        self.average_cost += share * (cost - self.average_cost)
        self.average_plan += share * (first - self.average_plan)
        if is_short:
            prices = np.minimum(prices, 10 * np.maximum(self.average_price, self.weight))
        self.average_price += share * (prices - self.average_price)
        variance = self.members @ (self.p**2 * self.average_plan**2 / n).sum(axis=1)
        self.error = self.sigma * np.sqrt(variance)
        most = 2.5 + 0.5 * math.log10(max(1.0, self.weight))
        odds = self.average_price / self.weight
        odds = np.where(odds > 1, odds ** (1 + self.price_caution), odds)

        def quantiles(q):
            left = 1 - odds * q
            inner = [NORMAL.inv_cdf(part) if 0 < part < 1 else math.copysign(math.inf, part) for part in left]
            return np.clip(inner, -3.5, most)

        spread = math.sqrt((self.average_price**2 * self.error**2).sum())
        q = 0.5
        if spread > 0:

            def gap(q):
                total = (self.average_price * quantiles(q) * self.error).sum() + self.average_cost
                return NORMAL.cdf(total / spread) - q

            q = brentq(gap, 0.0, 1.0, xtol=1e-15, rtol=1e-14)
        best = np.where(self.floors > 0, quantiles(q), 0.0)
        self.z = np.minimum(best, np.maximum(self.z, 0.0) + (1 - 0.98 ** max(1, t - moved)))
