# %% [markdown]
# # A platform, from log to service
#
# A film platform has shown films of six providers at random for a while, and logged what visitors thought of them.
# Now it wants to promise every provider a minimum, earn as much as it can, and serve decisions to its website. This
# notebook goes all the way in one sitting.

# %% [markdown]
# ## The log
#
# The package brings it along: 20,000 visits, with a genre that was asked for (the *context*), a provider that was
# shown (the *arm*), and how much the film was liked (the *reward*).

# %%
from arcbandit import advise, fit, read_log
from arcbandit.examples.films import Platform

log = Platform().log()
statistics = read_log(log, context="genre", arm="provider", reward="liking")
statistics

# %% [markdown]
# ## What can be promised
#
# `advise` answers from what the log knows, with 95 % confidence for everything that it says. Could every provider
# be promised 0.09 per visit?

# %%
floors = dict.fromkeys(statistics.arms, 0.09)
advice = advise(statistics, floors)
print(f"The promises are {advice.verdict}.")
print(f"They cost {advice.total_price.plain:.3f} per visit, surely no more than {advice.total_price.high:.3f},")
print(f"and all of them could surely be {advice.largest_scale.low:.2f} times as high.")

# %% [markdown]
# A picture of who earns what: now, and by the plan that keeps the promises even in the worst world that the log
# leaves possible.

# %%
import matplotlib.pyplot as plt
import numpy as np

figure, ax = plt.subplots(figsize=(6.4, 2.8))
places = np.arange(len(statistics.arms))
ax.barh(places - 0.2, [earned.plain for earned in advice.earned], 0.38, label="now", color="#8A8A8A")
planned = [revenue.low for revenue in advice.plans["pessimistic"].revenue]
ax.barh(places + 0.2, planned, 0.38, label="planned, at least", color="#0072B2")
ax.axvline(0.09, color="#D55E00", linestyle="--", label="promised")
ax.set_yticks(places, statistics.arms)
ax.invert_yaxis()
ax.set_xlabel("liking per visit")
legend = ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))

# %% [markdown]
# ## A policy that has read the log
#
# `fit` gives a policy that knows what it would know had it made these 20,000 decisions itself, and goes on
# learning. With a `violation_weight` of 10, a unit that a promise lacks counts as much as ten units of liking.

# %%
policy = fit(statistics, floors, "priced-lp", violation_weight=10, seed=1)
decision = policy.decide("Drama")
print(f"Drama: show {decision.arm}, drawn with probability {decision.probability:.2f} ({decision.how})")

# %%
policy.status()

# %% [markdown]
# ## Serve it
#
# The decision service takes the policy as it is. In a terminal that is `arcbandit serve --from policy.json`; here
# the notebook starts it, on a free port and with a store in a temporary folder.

# %%
import json
import pathlib
import subprocess
import sys
import tempfile

folder = tempfile.TemporaryDirectory()
here = pathlib.Path(folder.name)
(here / "policy.json").write_text(json.dumps(policy.snapshot()))
options = f"--store {here}/films.db --from {here}/policy.json --campaign films --port 0 --open"
service = subprocess.Popen(
    [sys.executable, "-m", "arcbandit", "serve", *options.split()], stdout=subprocess.PIPE, text=True
)
for line in service.stdout:
    if line.startswith("Serving on "):
        address = line.split()[2]
        break
print("It serves the campaign films.")

# %% [markdown]
# The website asks for a decision with every visit, and tells later what it earned. An answer is on disk before it
# is given, and a reward counts once, however often it is sent.

# %%
import time

from arcbandit.client import Client

client = Client(address)
while client.plan("films").expected_revenue is None:  # until the first plan is made, contexts are shared evenly
    time.sleep(0.1)
platform = Platform()
visits = np.random.default_rng(7)
shown = dict.fromkeys(statistics.arms, 0)
for visit in range(300):
    genre = visits.choice(platform.genres, p=platform.asked_for)
    answer = client.decide("films", str(genre), request_id=f"visit-{visit}")
    liked = visits.choice([film.rating for film in platform.of(answer.arm, str(genre))]) / 10
    client.reward("films", answer.decision_id, float(liked))
    shown[answer.arm] += 1
print(*(f"{provider:<22}{count:4d} visits" for provider, count in shown.items()), sep="\n")

# %% [markdown]
# ## Look after it
#
# The service says how every promise stands. Its dashboard, at the same address, shows this as it changes.

# %%
for floor in client.status("films")["floors"]:
    print(f"{floor['name']:<22} promised {floor['promised']:.2f}, expected {floor['expected']:.3f}: {floor['state']}")

# %% [markdown]
# What if every provider were promised a little more? The service plans with other floors and keeps nothing of it.

# %%
more = client.what_if("films", dict.fromkeys(statistics.arms, 0.1))
print(
    f"{more.expected_revenue:.4f} per visit with floors of 0.10, {client.plan('films').expected_revenue:.4f} as it is"
)

# %%
client.close()
service.terminate()
code = service.wait(60)
service.stdout.close()
folder.cleanup()
print("The service ended", "in order." if code == 0 else f"with {code}.")

# %% [markdown]
# ## Where to go from here
#
# - [From a log to a promise](../from-a-log.md) and [the film platform](../films.md) tell the first half in depth.
# - [The service](../service.md) has tokens, backups, PostgreSQL and containers; [its HTTP API](../http-api.md) is
#   for websites in other languages.
# - [In production](../in-production.md): arms that come and go, floors that cannot be kept, rewards that come late.
