# %% [markdown]
# # A new policy, from idea to figure
#
# You have an idea for a policy. This notebook takes one from a dozen lines of Python to a figure beside the
# policies of the literature, and is honest about how it does.

# %% [markdown]
# ## The idea
#
# The best plan is a linear program in the means. So: estimate the means, play their plan, and now and then play any
# arm, so that no estimate stays wrong for ever. It is ε-greedy, with a plan in place of the best arm.
#
# A policy for simulations is any object with a `name` and three methods.

# %%
import numpy as np

from arcbandit import Planner, checks, compare, paper_instance, plot, simulate


class EpsilonPlan:
    """Play the plan of the means; with the probability epsilon, any arm."""

    def __init__(self, epsilon, name):
        self.epsilon = epsilon
        self.name = name

    def begin(self, problem, seed):
        """Forget everything."""
        self.planner = Planner(
            problem.revenue_floors,
            problem.context_probabilities,
            available=problem.available,
            on_infeasible="least_shortfall",
        )
        self.pulls, self.sums, self.t = np.zeros(problem.shape), np.zeros(problem.shape), 0
        self.even = problem.available / problem.available.sum(axis=0)

    def allocate(self, context):
        """Shares of each context, one column for each."""
        self.t += 1
        epsilon = min(1.0, self.epsilon(self.t))
        best = self.planner.plan(self.sums / np.maximum(self.pulls, 1)).allocation
        return (1 - epsilon) * best + epsilon * self.even

    def learn(self, context, arm, reward):
        """One more reward of a pair."""
        self.pulls[arm, context] += 1
        self.sums[arm, context] += reward


# %% [markdown]
# ## A first look
#
# Exploring in a tenth of all rounds, beside OLP of the paper:

# %%
nu = paper_instance("nu")
steady = EpsilonPlan(lambda t: 0.1, "epsilon 0.1")
first = simulate(nu, ["olp", steady], horizon=3_000, epochs=4, seed=1)
plot(first, "regret_plus_violation").figure

# %% [markdown]
# It keeps losing at the same rate: a tenth of the rounds is wasted for ever. The regret of such a policy is linear.
#
# ## A better idea
#
# Explore less and less. If ε falls like 1/√t, the rounds spent on exploring grow like √t, and estimates still get
# better.

# %%
fading = EpsilonPlan(lambda t: t**-0.5, "fading")
second = simulate(nu, ["olp", "blp", steady, fading], horizon=3_000, epochs=4, seed=1)
plot(second, "regret_plus_violation").figure

# %% [markdown]
# ## Is it right at all?
#
# Before numbers are believed, the library's checks run on it: shares are shares, an epoch depends on nothing before
# it, the same seed gives the same plays. A check that fails raises an error that says what it found.

# %%
checks.check_policy(fading)
print(f"{len(checks.checks_of(fading))} checks passed")

# %% [markdown]
# ## More than one instance
#
# One instance proves little. `compare` plays the same policies on several; here, two more of the paper's, one of
# which leaves hardly any room above the floors.

# %%
instances = {"nu": nu, "little room": paper_instance("nu-margin:0.01"), "nu-plus": paper_instance("nu-plus:0.1")}
compare(instances, ["olp", "blp", "priced-lp", fading], horizon=1_500, epochs=3, seed=2)

# %% [markdown]
# ## The verdict
#
# The idea works, and it is not the best: it explores pairs that nobody needs to know about. Optimism (BLP) explores
# where an estimate could change the plan, and PricedLP also weighs what that costs.

# %%
last = simulate(nu, ["blp", "priced-lp", fading], horizon=3_000, epochs=4, seed=1)
for name in last.policies:
    lost = last.estimate("regret_plus_violation", name)
    print(f"{name:<10} loses {lost.mean:5.0f} ± {lost.half_width:.0f}")

# %% [markdown]
# ## Full speed
#
# A Python object plays at Python's speed. A class with compiled kernels plays millions of rounds per second, decides
# online, and is known by name on the command line: [write your own policy](../write-your-own-policy.md) shows one
# in full, and `arcbandit benchmark` [judges it](../learning.md) on families of instances.
