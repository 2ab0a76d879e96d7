"""Results that nobody played."""

from arcbandit.learning.contestants import CAREFUL, CAUTIOUS, CLAIRVOYANT, DEFAULT, HOPEFUL, JUDGED, SAMPLER
from arcbandit.learning.families import FAMILIES
from arcbandit.learning.results import SCORED, FamilyResults, Row, Settings

INSTANCES = 100
EPOCHS = 8
# Regret and violation of each policy, with which every requirement is kept.
SUMS = {
    JUDGED: (40.0, 10.0),
    CAREFUL: (60.0, 4.0),
    DEFAULT: (50.0, 50.0),
    SAMPLER: (50.0, 30.0),
    HOPEFUL: (100.0, 500.0),
    CAUTIOUS: (100.0, 5.0),
    CLAIRVOYANT: (15.0, 10.0),
}


def row(number, policy, regret=None, violation=None, **changes):
    """A row with the sums above, except for those that are given."""
    usual = SUMS[policy]
    regret = usual[0] if regret is None else regret
    violation = usual[1] if violation is None else violation
    return Row(number, policy, regret, violation, 1.0, 1.0, 2 * (regret + violation), 25.0)._replace(**changes)


def results(*changed, families=tuple(FAMILIES), policies=tuple(SUMS)):
    """Every family with every policy; `changed` are pairs of a family and a row that stands in for the usual one."""
    found = {}
    for family in families:
        rows = {(number, policy): row(number, policy) for number in range(INSTANCES) for policy in policies}
        rows |= {(one.number, one.policy): one for name, one in changed if name == family}
        found[family] = FamilyResults(
            Settings(SCORED, family, 0, 50_000, FAMILIES[family].epochs(EPOCHS)), rows.values(), ["a command"]
        )
    return found
