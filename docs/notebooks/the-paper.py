# %% [markdown]
# # The paper in ten minutes
#
# *Multi-Armed Bandits with Minimum Aggregated Revenue Constraints* asks a simple question. Somebody must choose an
# arm again and again, seeing a context before each choice. Every arm has been promised a minimum revenue, summed
# over all contexts. How much is lost by not knowing, at the start, what the arms earn?

# %% [markdown]
# ## The problem, with everything known
#
# Take the paper's main example: three arms, three contexts that are equally likely. Its tables show p·μ, the
# revenue per round of an arm that is always played in a context.

# %%
from arcbandit import Instance, analyse, plan, plot, simulate

nu = Instance.from_weighted_means(
    [[3, 1, 2], [0, 1 / 2, 0], [0, 0, 1]],
    revenue_floors=[1, 1 / 4, 1 / 2],
    context_probabilities=[1 / 3, 1 / 3, 1 / 3],
)

# %% [markdown]
# The first arm is better everywhere. Without promises it would get every round, and the other two nothing. With
# them the best *plan*, a share of each context for each arm, is a small linear program:

# %%
best = plan(nu)
best

# %% [markdown]
# Half of the second context goes to arm 2 and half of the third to arm 3, no more than their floors ask for. The
# price of each floor is the revenue that its last unit costs. `analyse` has the constants that decide how hard the
# problem is: γ*, by how much all floors could be raised, and ρ*, how far the second-best set of constraints is from
# being best.

# %%
found = analyse(nu)
print(f"best revenue {found.value}, margin {found.feasibility_margin}, gap {found.suboptimality_gap:.4f}")

# %% [markdown]
# ## Learning it
#
# Now the means are unknown. A policy plans with estimates, and each estimate has a confidence interval. The paper
# plans optimistically in the revenue, and asks what to do about the floors:
#
# - **OLP** is optimistic there as well: it believes that floors are met if they might be.
# - **OPLP** is pessimistic: it plans so that floors are met even if the arms earn as little as they might.
#
# Two sums say how they do: the *regret* R, revenue lost against the best plan, and the *violation* V, what floors
# lacked.

# %%
trace = simulate(nu, ["olp", "oplp"], horizon=20_000, epochs=5, seed=1)
plot(trace, "regret").figure

# %%
plot(trace, "violation").figure

# %% [markdown]
# This is the trade-off that the paper is about. OLP hardly loses revenue and pays in violation, which grows like
# √T; OPLP is the other way round: one of the two sums stays nearly flat, the other grows.

# %%
for policy, sums in trace.summary().items():
    print(f"{policy:<5} regret {sums['regret'].mean:6.0f}   violation {sums['violation'].mean:6.0f}")

# %% [markdown]
# ## In between, and beyond
#
# Nothing forces a policy to an end of the trade-off. BLP is optimistic in the revenue and plans floors with plain
# means. PricedLP, which is not in the paper, weighs what a margin on a floor costs against what a shortfall costs.

# %%
more = simulate(nu, ["olp", "oplp", "blp", "priced-lp"], horizon=20_000, epochs=5, seed=1)
plot(more, "regret_plus_violation").figure

# %% [markdown]
# How much of this is the price of learning itself? For normal rewards there is a limit that no policy can beat on
# all instances near this one, to the order of √T:

# %%
limit = found.learning_limit(20_000)
best_policy = min(more.policies, key=lambda name: more.estimate("regret_plus_violation", name).mean)
lost = more.estimate("regret_plus_violation", best_policy).mean
print(f"{best_policy} loses {lost:.0f}; the limit is {limit.total:.0f}")

# %% [markdown]
# ## Where to go from here
#
# - `arcbandit reproduce` plays every experiment of the paper: [how](../reproduce.md).
# - [Where we differ from the paper](../differences.md), and the [theory beyond it](../theory.md) with the proof of
#   the limit.
# - [A new policy, from idea to figure](new-policy.py).
