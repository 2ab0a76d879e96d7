"""Rounds on a GPU, one thread per epoch, against one core of the machine that it is in."""

from collections.abc import Callable

from arcbandit import paper_instance, simulate
from benchmarks.measure import Outcome, Requirement, Spread, Workload, seconds, take_turns

HORIZON = 50_000
# Eight times as many as an H200 has room for at once.
EPOCHS = 270_336
CPU_EPOCHS = 20


def rounds_of(policy: str) -> Callable[[int], Outcome]:
    """A workload of this policy on nu: everything that `simulate` does once the kernels are compiled, all metrics."""

    def run(turns: int) -> Outcome:
        nu = paper_instance("nu")
        regrets: dict[str, float] = {}

        def device_round(turn: int) -> float:
            def play() -> None:
                summary = simulate(nu, [policy], HORIZON, EPOCHS, seed=turn, checkpoints=1, device="cuda")
                regrets["mean"] = float(summary.mean("regret", policy)[-1])
                regrets["standard_error"] = float(summary.standard_error("regret", policy)[-1])

            return seconds(play) / (HORIZON * EPOCHS)

        def core_round(turn: int) -> float:
            def play() -> None:
                simulate(nu, [policy], HORIZON, CPU_EPOCHS, seed=turn, jobs=1, checkpoints=1)

            return seconds(play) / (HORIZON * CPU_EPOCHS)

        ours, alternative = take_turns([device_round, core_round], turns)
        return Outcome(
            ours=ours,
            alternative=alternative,
            alternative_name="one core",
            details={
                "rounds_per_second": 1.0 / Spread.of(ours).median,
                "epochs": EPOCHS,
                "regret": regrets["mean"],
                "standard_error": regrets["standard_error"],
            },
        )

    return run


WORKLOADS = tuple(
    Workload(
        name=f"device-{policy}-3x3",
        summary=f"a round of {policy.upper()} on nu, {EPOCHS:,} epochs at once on a GPU",
        run=rounds_of(policy),
        turns=7,
        quick_turns=3,
        requirement=Requirement(ratio=1000.0, rate=3e9) if policy == "olp" else None,
        on_device=True,
    )
    for policy in ("olp", "oplp")
)
