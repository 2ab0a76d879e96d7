"""The rules of the literature as their papers write them: whole arrays, every reward kept."""

import numpy as np


class Twin:
    """What every twin is told and sees."""

    def __init__(self, probabilities, floors, available, noise_scale, bound, horizon, dials):
        self.probabilities = np.array(probabilities)
        self.available = np.array(available)
        self.n_arms, self.n_contexts = self.available.shape
        self.noise_scale = noise_scale
        self.bound = bound
        self.horizon = horizon
        self.dials = dials
        self.true_floors = np.array(floors)
        self.floors = self.true_floors / bound
        self.rewards = {(k, c): [] for k in range(self.n_arms) for c in range(self.n_contexts)}
        self.queues = np.zeros(self.n_arms)

    def table(self, entry, unplayed):
        """A K x C matrix of `entry` of each pair's rewards."""
        return np.array(
            [
                [
                    entry(np.array(self.rewards[k, c])) if self.rewards[k, c] else unplayed
                    for c in range(self.n_contexts)
                ]
                for k in range(self.n_arms)
            ]
        )

    def means(self):
        """Scaled means, 1 for a pair never played."""
        return self.table(lambda rewards: rewards.mean() / self.bound, 1.0)

    def upper_bounds(self, t):
        """Scaled upper bounds, 1 for a pair never played."""
        kappa = self.n_arms * self.n_contexts
        return self.table(
            lambda rewards: (
                (rewards.mean() + self.noise_scale * np.sqrt(2 * np.log(2 * kappa * t) / len(rewards))) / self.bound
            ),
            1.0,
        )

    def learn(self, t, context, arm, reward):
        """Keep the reward, and move the queues."""
        self.rewards[arm, context].append(reward)
        played = np.arange(self.n_arms) == arm
        self.queues = np.maximum(0, self.queues + self.floors - played * reward / self.bound)


def inverse_gaps(scores, rate):
    """1 / (eta + rate * gap), eta in [1, K] found by bisection."""
    gaps = rate * (scores.max() - scores)
    low, high = 1.0, float(len(scores))
    for _ in range(200):
        middle = (low + high) / 2
        if (1 / (middle + gaps)).sum() > 1:
            low = middle
        else:
            high = middle
    return 1 / (high + gaps)


class ContextFreeTwin(Twin):
    """DOC, SPOC and SGOC."""

    def __init__(self, name, *arguments):
        super().__init__(*arguments)
        self.name = name

    def allocate(self, t, context):
        """w(t)."""
        confidence, factor = self.dials[:2]
        pooled = [[r for c in range(self.n_contexts) for r in self.rewards[k, c]] for k in range(self.n_arms)]
        pulls = np.array([len(rewards) for rewards in pooled])
        fresh = pulls == 0
        mean = np.array([np.mean(rewards) if rewards else np.nan for rewards in pooled])
        with np.errstate(divide="ignore", invalid="ignore"):
            radius = factor * self.noise_scale * np.sqrt(6 * (1 + confidence) * np.log(t) / pulls)
        allocation = np.zeros((self.n_arms, self.n_contexts))
        if not fresh.all():
            shares = self.shares(mean, radius, fresh)
        for c in range(self.n_contexts):
            open_arms = self.available[:, c]
            if (fresh & open_arms).any():
                allocation[:, c] = (fresh & open_arms) / (fresh & open_arms).sum()
            else:
                column = np.where(open_arms, shares, 0)
                best = np.argmax(np.where(open_arms, np.nan_to_num(mean + radius, nan=-np.inf), -np.inf))
                column[best] += 1 - shares.sum()
                allocation[:, c] = column / column.sum()
        return allocation

    def shares(self, mean, radius, fresh):
        """q of the first branch that is feasible."""
        first = {"doc": mean + radius, "spoc": mean - radius, "sgoc": mean}[self.name]
        wanted = (self.true_floors > 0) & ~fresh
        for estimate in (first, mean + radius):
            if (estimate[wanted] > self.true_floors[wanted]).all():
                shares = np.zeros(self.n_arms)
                shares[wanted] = self.true_floors[wanted] / estimate[wanted]
                if shares.sum() <= 1:
                    return shares
        bound = (mean + radius)[wanted]
        if self.dials[2:] != ("ucb",) and (first[wanted] > 0).all():
            bound = first[wanted]
        shares = np.zeros(self.n_arms)
        shares[wanted] = np.where(bound > 0, self.true_floors[wanted] / bound, 0)
        return shares / shares.sum()


class Optimistic3Twin(Twin):
    """Logits that are never rescaled."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.logits = np.zeros((self.n_arms, self.n_contexts))
        self.before = np.zeros(self.n_arms)

    def allocate(self, t, context):
        """w(t)."""
        alpha, dual = self.dials
        bounds = np.minimum(self.upper_bounds(t), 1)
        self.logits += (1 + self.queues)[:, None] * bounds / alpha
        masked = np.where(self.available, self.logits, -np.inf)
        powers = np.exp(masked - masked.max(axis=0))
        allocation = powers / powers.sum(axis=0)
        earned = allocation * bounds
        if dual == "expected":
            self.step(self.floors - earned @ self.probabilities)
        elif dual == "context":
            self.step(self.floors - earned[:, context])
        return allocation

    def step(self, gaps):
        """Move the dual, extrapolating by one round."""
        self.queues = np.maximum(0, self.queues + 2 * gaps - self.before)
        self.before = gaps

    def learn(self, t, context, arm, reward):
        """Keep the reward, and move the dual."""
        self.rewards[arm, context].append(reward)
        if self.dials[1] == "realised":
            self.step(self.floors - (np.arange(self.n_arms) == arm) * reward / self.bound)


class LOE2DTwin(Twin):
    """V, gamma, beta and L by their names."""

    def allocate(self, t, context):
        """w(t)."""
        horizon = self.horizon
        error = self.n_arms * self.n_contexts * np.log(horizon)
        penalty = self.dials[0] * np.sqrt(horizon * error) * np.log(horizon)
        gamma = self.dials[1] * self.n_arms * np.sqrt(horizon / error)
        beta = penalty / (penalty + self.queues.sum())
        score = self.means() * (1 + self.queues / penalty)[:, None]
        allocation = np.zeros((self.n_arms, self.n_contexts))
        for c in range(self.n_contexts):
            arms = np.flatnonzero(self.available[:, c])
            allocation[arms, c] = inverse_gaps(score[arms, c], 2 * gamma * beta)
        return allocation


class LagrangeCBTwin(Twin):
    """Hedge in plain probabilities over the positive floors, and time at the end."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.kept = np.flatnonzero(self.floors > 0)
        self.weights = np.ones(len(self.kept) + 1) / (len(self.kept) + 1)

    def allocate(self, t, context):
        """w(t)."""
        margin, scale, _ = self.dials
        gamma = scale * np.sqrt(self.n_arms * self.horizon / (self.available.size * np.log(self.horizon)))
        price = np.zeros(self.n_arms)
        price[self.kept] = 2 / margin * self.weights[:-1] / self.floors[self.kept]
        score = self.means() * (1 + price)[:, None]
        allocation = np.zeros((self.n_arms, self.n_contexts))
        for c in range(self.n_contexts):
            arms = np.flatnonzero(self.available[:, c])
            best = arms[np.argmax(score[arms, c])]
            allocation[arms, c] = 1 / (len(arms) + gamma * (score[best, c] - score[arms, c]))
            allocation[best, c] = 1 - (allocation[:, c].sum() - allocation[best, c])
        return allocation

    def learn(self, t, context, arm, reward):
        """Keep the reward, and move the dual."""
        self.rewards[arm, context].append(reward)
        step = self.dials[2] * self.floors[self.kept].min() * np.sqrt(np.log(len(self.weights)) / self.horizon)
        earned = (self.kept == arm) * reward / self.bound
        self.weights[:-1] *= np.exp(-step * (earned / self.floors[self.kept] - 1))
        self.weights /= self.weights.sum()


class DriftPlusPenaltyTwin(Twin):
    """One arm for each context."""

    def allocate(self, t, context):
        """w(t)."""
        score = (self.dials[0] * np.sqrt(self.horizon) + self.queues)[:, None] * self.upper_bounds(t)
        best = np.where(self.available, score, -np.inf).argmax(axis=0)
        allocation = np.eye(self.n_arms)[:, best]
        fresh = self.available & (self.table(len, 0) == 0)
        for c in np.flatnonzero(fresh.any(axis=0)):
            allocation[:, c] = fresh[:, c] / fresh[:, c].sum()
        return allocation


class BanditQTwin(Twin):
    """Surrogate rewards summed as they come."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.sums = np.zeros(self.n_arms)
        self.squares = 0.0
        self.last = None

    def allocate(self, t, context):
        """w(t)."""
        horizon = self.horizon
        rate = self.dials[0] * np.sqrt(self.n_arms * np.log(horizon) / (horizon + self.squares))
        even = min(0.5, np.sqrt(self.n_arms / t))
        self.last = np.zeros((self.n_arms, self.n_contexts))
        for c in range(self.n_contexts):
            arms = np.flatnonzero(self.available[:, c])
            self.last[arms, c] = (1 - even) * inverse_gaps(self.sums[arms], rate) + even / len(arms)
        return self.last

    def learn(self, t, context, arm, reward):
        """Keep the reward, and add up its surrogate."""
        super().learn(t, context, arm, reward)
        surrogate = reward / self.bound * (self.queues[arm] + np.sqrt(self.horizon))
        self.squares += surrogate**2
        self.sums[arm] += surrogate / self.last[arm, context]


def make_twin(name, *arguments):
    """The twin of a rule."""
    if name in ("doc", "spoc", "sgoc"):
        return ContextFreeTwin(name, *arguments)
    twins = {
        "optimistic3": Optimistic3Twin,
        "loe2d": LOE2DTwin,
        "lagrange-cb": LagrangeCBTwin,
        "drift-plus-penalty": DriftPlusPenaltyTwin,
        "bandit-q": BanditQTwin,
    }
    return twins[name](*arguments)
