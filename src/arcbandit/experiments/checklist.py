"""Every item of the paper, with where it is tested or shown, or why it is not implemented."""

from arcbandit.report.reproduction.entries import ChecklistEntry

ORACLE = "tests/test_oracle.py"
PLANNING = "tests/test_planning.py"
PRINTED = "tests/experiments/test_paper_instances.py::test_tables_stand_as_printed"
SANITY = "tests/simulation/test_sanity.py"
AUDITED = f"{SANITY}::test_the_papers_statements_hold_along_a_run"
STEP_OF_A_PROOF = "Not implemented, because it is a step of a proof on paper with nothing to run"


def _item(
    kind: str,
    title: str,
    label: str = "",
    *,
    experiments: tuple[str, ...] = (),
    tests: tuple[str, ...] = (),
    docs: tuple[str, ...] = (),
    remark: str = "",
) -> ChecklistEntry:
    return ChecklistEntry(label, kind, title, experiments, tests, docs, remark)


_SETTING = (
    _item(
        "Figure",
        "three regimes of floors",
        "Fig: Challenge Illustration",
        experiments=("figure-1",),
        tests=(f"{ORACLE}::test_follow_the_second_floor_of_figure_1",),
        docs=("docs/differences.md: Figure 1 is schematic",),
    ),
    _item(
        "Protocol",
        "MAB-ARC, round by round",
        "Model",
        tests=("tests/simulation/test_run.py::test_a_plan_known_from_the_start_has_neither_regret_nor_violation",),
        remark="Every experiment plays it: simulation/loop.py reads like its box.",
    ),
    _item(
        "Problem",
        "planning as a linear program, LP(μ_obj, μ_cons)",
        "sec: setting",
        tests=(f"{PLANNING}::test_the_border_of_feasibility_is_where_it_should_be",),
        docs=("docs/notation.md: the plan",),
        remark="Every plan that is returned carries a proof by weak duality.",
    ),
    _item(
        "Definition",
        "regret and violation",
        "def:metrics",
        experiments=("regret",),
        tests=("tests/simulation/test_plain.py::test_measures_are_those_of_its_allocation",),
    ),
    _item(
        "Assumption",
        "sub-Gaussian rewards",
        "Assump: Sub-Gaussian rewards",
        experiments=("audit",),
        remark="Rewards are Gaussian with σ = 1, as in the paper's experiments, where nothing else is said.",
    ),
    _item(
        "Assumption",
        "known probabilities of the contexts",
        "Assump: Known contexts probabilities",
        experiments=("unknown-contexts",),
        remark="The paper says that estimating them costs little; that is measured.",
    ),
    _item(
        "Assumption",
        "strict feasibility and non-degeneracy",
        "Assump: Strict feasibility",
        experiments=("audit",),
        tests=(f"{ORACLE}::test_degenerate_instances_are_flagged",),
    ),
    _item(
        "Definition",
        "feasibility margin γ*",
        "def: gamma",
        experiments=("audit", "margin"),
        tests=(
            f"{ORACLE}::test_margins_values_and_sensitivities_of_the_paper",
            f"{ORACLE}::test_infeasible_floors_have_a_negative_margin_and_no_optimum",
        ),
        docs=("docs/differences.md: γ* has a sign",),
    ),
    _item(
        "Definition",
        "performance sensitivity coefficient S_γ*",
        "def: Sgamma",
        tests=(f"{ORACLE}::test_margins_values_and_sensitivities_of_the_paper",),
        docs=("docs/differences.md: the slope of the best revenue",),
    ),
)

_ORACLE = (
    _item(
        "Definition",
        "the active set I* and OPT(μ, μ, I)",
        "sec: Oracle Behavior",
        experiments=("audit",),
        tests=(f"{ORACLE}::test_nu", f"{ORACLE}::test_count_follows_the_formula_of_the_paper"),
    ),
    _item(
        "Definition",
        "feasibility gap s(I) and the set ψ(s, I)",
        "def: Psi set and S(I)",
        tests=(
            f"{ORACLE}::test_gaps_of_candidates_of_the_paper",
            f"{ORACLE}::test_a_set_that_leaves_a_context_without_an_arm_has_an_infinite_gap",
        ),
        docs=("docs/differences.md: sets that leave a context without an arm",),
    ),
    _item(
        "Definition",
        "performance gap P(I) and sensitivity L(I)",
        "def: Perf I",
        tests=(f"{ORACLE}::test_gaps_of_candidates_of_the_paper",),
    ),
    _item(
        "Definition",
        "sub-optimality gap ρ(I) and ρ*",
        "def: suboptimality gap",
        experiments=("audit",),
        tests=(f"{ORACLE}::test_the_least_gap_of_nu", f"{ORACLE}::test_random_instances"),
    ),
    _item(
        "Lemma",
        "ρ(I*) = 0 and ρ* > 0",
        "lem: subotimality characterisation",
        experiments=("audit",),
        tests=(f"{ORACLE}::test_random_instances",),
    ),
    _item(
        "Lemma",
        "which arm is best in a context, by the dual",
        "lem: best arm carac",
        experiments=("audit",),
        docs=("docs/notation.md: the printed Lagrangian drops p_c",),
        remark="Certificates state the same conditions of every plan: reduced costs of pairs that are played are zero.",
    ),
    _item(
        "Proposition",
        "S_γ* is positive and finite",
        "Prop: Sgamma",
        tests=(f"{ORACLE}::test_margins_values_and_sensitivities_of_the_paper",),
    ),
    _item(
        "Proposition",
        "L(I) is finite",
        "Prop: L(I)",
        tests=(f"{ORACLE}::test_random_instances",),
    ),
)

_ALGORITHMS = (
    _item("Equation", "empirical mean", "eq:empirical_mean", experiments=("audit",)),
    _item("Equation", "confidence set and radius ε", "eq:conf-set-def", experiments=("audit",)),
    _item(
        "Proposition",
        "the confidence set covers μ; errors of f and g_k are at most ρ and ρ_k",
        "prop:conf-set",
        experiments=("audit",),
        tests=(AUDITED, f"{SANITY}::test_the_audit_sees_what_does_not_hold"),
    ),
    _item(
        "Proposition",
        "sums of errors of a pair",
        "prop: Pairwise Estimation Error Upper Bound",
        experiments=("audit",),
    ),
    _item(
        "Algorithm",
        "OLP",
        "Alg: Optimism",
        experiments=("regret",),
        tests=(f"{SANITY}::test_olp_has_little_regret_and_violation_like_the_root_of_time",),
        docs=("docs/differences.md: the first rounds; when LP(UCB, UCB) is infeasible",),
    ),
    _item(
        "Algorithm",
        "OPLP",
        "Alg: Pessimism",
        experiments=("regret", "margin", "stuck-runs"),
        tests=(f"{SANITY}::test_oplp_has_little_violation_and_regret_like_the_root_of_time",),
        docs=("docs/differences.md: floors of zero",),
    ),
)

_RESULTS = (
    _item(
        "Theorem",
        "upper bounds for OLP",
        "Th: Results of OLP",
        experiments=("regret", "nonsaturating"),
        remark="Growth in T is measured; the constants of the O-notation are not stated in the paper.",
    ),
    _item(
        "Theorem",
        "upper bounds for OPLP",
        "Th: Results of OPLP",
        experiments=("regret", "margin", "margin-families", "stuck-runs", "between"),
        remark="Growth in T and in γ* is measured; the constants of the O-notation are not stated in the paper.",
    ),
    _item(
        "Proposition",
        "where OLP saturates a wrong set, ρ(ε, w(t)) ≥ ρ*",
        "prop: OLP rho star",
        experiments=("audit",),
        tests=(AUDITED,),
    ),
    _item("Lemma", "w(t) ∈ ψ(ρ(ε, w(t)), I_t)", "Lem: w(t) belongs to Psi set", experiments=("audit",)),
    _item("Proposition", "rounds of OPLP on the fallback", "Prop: tau", experiments=("audit", "margin")),
    _item(
        "Proposition",
        "no violation while LP(UCB, LCB) is feasible",
        "Prop: zero constraint for pessimism",
        experiments=("audit",),
        tests=(AUDITED,),
    ),
    _item(
        "Proposition",
        "regret of OPLP on the fallback (A₁)",
        "prop: regret_of_first_phase_under_pessimism",
        experiments=("margin",),
        remark="The parts A₁, A₂ and A₃ are not measured by themselves: their sum is, and so are the rounds of A₁.",
    ),
    _item(
        "Proposition",
        "regret of OPLP where I_t = I* (A₂)",
        "Prop: regret_when_saturating_the_correct_arms_under_pessimism",
        experiments=("regret",),
        remark="Nearly all rounds are of this kind, see the column I_t = I*, so that the regret is that of A₂.",
    ),
    _item(
        "Proposition",
        "regret of OPLP where I_t is not I* (A₃)",
        "prop: regret_suboptimal_activated_constraints_under_pessimism",
        experiments=("audit",),
        tests=(AUDITED,),
        remark="Its first point is audited along runs; the second follows from it on paper.",
    ),
    _item("Theorem", "Hoeffding's inequality", "", remark=f"{STEP_OF_A_PROOF}; it is a known result."),
    _item("Fact", "the sum of 1/√t is at most 2√T", "Fact 1", remark=f"{STEP_OF_A_PROOF}."),
    _item("Fact", "the sum of 1/t is at most log T + 1", "Fact 2", remark=f"{STEP_OF_A_PROOF}."),
)

_LOWER_BOUND = (
    _item(
        "Table",
        "nominal instance ν⁽⁰⁾",
        "tab: lower bound egs",
        experiments=("lower-bound", "audit"),
        tests=(PRINTED, f"{ORACLE}::test_nu_nominal"),
        docs=("docs/differences.md: the tables print p_c μ; γ* of ν⁽⁰⁾ is 1/4",),
    ),
    _item(
        "Equation",
        "instances nearby, Υ(ν⁽⁰⁾, ε)",
        "eq:nearby-alternatives",
        experiments=("lower-bound",),
        tests=("tests/experiments/test_paper_instances.py::test_the_first_perturbation_must_be_below_a_quarter",),
    ),
    _item(
        "Theorem",
        "lower bounds: √T for R + V, and log T for R",
        "Th: Lower Bound",
        experiments=("lower-bound", "one-context"),
        docs=("docs/differences.md: the constants of the lower bounds",),
        remark="Shown for the policies that we have; that it holds for all policies is the proof's part.",
    ),
    _item(
        "Table",
        "instances ν⁺ and ν⁻",
        "tab:nu+ instance",
        experiments=("lower-bound",),
        tests=(PRINTED, f"{ORACLE}::test_nu_plus"),
    ),
    _item("Table", "instance ν⁻", "tab:nu- instance", experiments=("lower-bound",), tests=(PRINTED,)),
    _item("Table", "allocation of ν⁺", "tab:allocation-nu-plus", tests=(f"{ORACLE}::test_nu_plus",)),
    _item("Table", "allocation of ν⁻", "tab:allocation-nu-minus", tests=(f"{ORACLE}::test_nu_minus",)),
    _item(
        "Remark",
        "this instance is not a corner case",
        "",
        experiments=("audit",),
        docs=("docs/differences.md: γ* of ν⁽⁰⁾ is 1/4",),
    ),
    _item(
        "Table",
        "instance ν′ of the second bound",
        "tab: instance nu prime",
        experiments=("lower-bound",),
        tests=(PRINTED,),
        docs=("docs/differences.md: two instances called ν′",),
    ),
    _item(
        "Table",
        "allocation of ν′",
        "tab:allocation-nu-prime",
        tests=(f"{ORACLE}::test_nu_of_the_second_lower_bound",),
    ),
    _item(
        "Lemma",
        "no free exploration: some pair has w* = 0",
        "lem: zero entry",
        experiments=("no-free-exploration", "one-context"),
    ),
)

_EXPERIMENTS = (
    _item("Table", "instance ν", "tab:simulation-egs", experiments=("regret",), tests=(PRINTED,)),
    _item("Table", "allocation of ν", "tab:allocation-nu-egs", tests=(f"{ORACLE}::test_nu",)),
    _item(
        "Figure",
        "regret, violation and performance on ν",
        "Fig: experiment",
        experiments=("regret",),
        docs=("docs/differences.md: Optimistic³ need not have √T regret",),
    ),
    _item("Table", "instance without saturated floors", "tab:simulation-NSegs", experiments=("nonsaturating",)),
    _item("Table", "its allocation", "tab:allocation-nu-NSegs", tests=(f"{ORACLE}::test_nu_nonsaturating",)),
    _item("Figure", "arms that do not saturate", "Fig: experiment NS", experiments=("nonsaturating",)),
    _item(
        "Figure",
        "sensitivity of OPLP to the margin",
        "Fig: experiment OPLP sensitivity",
        experiments=("margin", "margin-families"),
        docs=("docs/differences.md: a family with a chosen margin; the violation of OPLP",),
    ),
    _item(
        "Table",
        "counterexample to greedy behaviour",
        "tab:greedy_counter_example",
        experiments=("greedy", "one-context"),
        tests=(f"{ORACLE}::test_greedy_counterexample", f"{SANITY}::test_blp_is_not_stuck_where_greedy_is"),
        docs=("docs/differences.md: Greedy seldom gets stuck with the paper's noise",),
    ),
    _item(
        "Comparison",
        "Optimistic³, DOC and SPOC",
        "",
        experiments=("regret", "infeasible-floors"),
        tests=(
            "tests/policies/test_baselines.py::test_optimistic3_behaves_like_olp_on_nu",
            "tests/policies/test_baselines.py::test_the_case_of_the_paper_without_contexts",
        ),
    ),
    _item(
        "Discussion",
        "floors on groups of arms, and sliding windows",
        "",
        experiments=("group-floors",),
        tests=("tests/kernels/test_planning.py::test_a_group_floor_is_met_by_its_cheapest_member",),
        remark="The paper's conclusion names it as a generalisation; the library plans and learns with such floors.",
    ),
    _item(
        "Discussion",
        "sharper than linear bandits with self-normalised radii",
        "",
        experiments=("linear-bandit",),
    ),
    _item(
        "Discussion",
        "infinitely many arms or contexts",
        "",
        remark="Not implemented, because the paper leaves it to future work: it needs structure on the rewards.",
    ),
)

CHECKLIST = (*_SETTING, *_ORACLE, *_ALGORITHMS, *_RESULTS, *_LOWER_BOUND, *_EXPERIMENTS)
