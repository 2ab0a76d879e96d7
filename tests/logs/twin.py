"""Off-policy estimators row by row in plain NumPy, to compare ours with."""

import numpy as np


def estimates(arms, contexts, rewards, probabilities, shares):
    """By name: the influence of each row on every arm's revenue and on the sum, shape (K + 1, n), and the estimates."""
    n_arms, n_contexts = shares.shape
    n = len(rewards)
    is_arm = np.vstack([arms == arm for arm in range(n_arms)] + [np.ones(n, dtype=bool)])
    weights = shares[arms, contexts] / probabilities
    means = np.zeros(shares.shape)
    spreads = np.zeros(shares.shape)
    counts = np.zeros(shares.shape)
    for arm in range(n_arms):
        for context in range(n_contexts):
            own = rewards[(arms == arm) & (contexts == context)]
            counts[arm, context] = len(own)
            means[arm, context] = own.mean() if len(own) else 0.0
            spreads[arm, context] = ((own - own.mean()) ** 2).sum() if len(own) else 0.0
    found = {}
    found["ips"] = _of_rows(is_arm * weights * rewards)
    values = (is_arm * weights * rewards).sum(axis=1) / weights.sum()
    influence = weights * (is_arm * rewards - values[:, None]) / weights.mean()
    found["snips"] = values, np.sqrt((influence**2).sum(axis=1) / (n * (n - 1)))
    found["dm"] = _direct(arms, contexts, rewards, shares, means, spreads, counts)
    model, kept = _model(rewards, means, spreads, counts)
    planned = np.vstack([shares * model, (shares * model).sum(axis=0)])[:, contexts]
    residual = weights * (rewards - model[arms, contexts])
    values = (planned + is_arm * residual).mean(axis=1)
    part = np.maximum(1.0 - kept[arms, contexts] / counts[arms, contexts], 0.5)
    squares = (planned**2 + 2 * planned * is_arm * residual + is_arm * (residual / part) ** 2).sum(axis=1)
    found["dr"] = values, np.sqrt((squares - n * values**2) / (n * (n - 1)))
    return found


def _of_rows(influence):
    return influence.mean(axis=1), influence.std(axis=1, ddof=1) / np.sqrt(influence.shape[1])


def _direct(arms, contexts, rewards, shares, means, spreads, counts):
    n = len(rewards)
    planned = np.vstack([shares * means, (shares * means).sum(axis=0)])[:, contexts]
    values = planned.mean(axis=1)
    pooled = spreads.sum() / (counts[counts > 0] - 1).sum()
    squares = ((planned - values[:, None]) ** 2).sum(axis=1)
    of_context = np.bincount(contexts, minlength=shares.shape[1])
    for arm, context in np.argwhere(counts > 0):
        count = counts[arm, context]
        variance = spreads[arm, context] / (count - 1) if count > 1 else pooled
        added = count * variance * (shares[arm, context] * of_context[context] / count) ** 2
        squares[arm] += added
        squares[-1] += added
    return values, np.sqrt(squares / (n * (n - 1)))


def _model(rewards, means, spreads, counts):
    """Means drawn towards the mean of all rewards, by an estimate of how much they differ."""
    played = counts > 0
    n, pairs = len(rewards), played.sum()
    within = spreads.sum() / (n - pairs)
    scatter = (counts * (means - rewards.mean()) ** 2)[played].sum()
    between = max(scatter - (pairs - 1) * within, 0.0) / (n - (counts**2).sum() / n)
    kept = np.zeros(means.shape)
    kept[played] = between / (between + within / counts[played])
    return np.where(played, rewards.mean() + kept * (means - rewards.mean()), rewards.mean()), kept
