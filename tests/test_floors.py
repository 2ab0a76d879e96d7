import copy
import dataclasses
import doctest
import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcbandit import GroupFloor, Instance, floors
from arcbandit.floors import CouplingRows, Floor, FloorKind, Floors, arm_rows_of, named_groups, without_zeros
from arcbandit.kernels.program import NO_FLOOR

ARMS = ("house", "guest", "new")
GROUPS = (GroupFloor("others", ("new", "guest"), 0.0), GroupFloor("all", ("house", "guest", "new"), 2.0))
TABLE = Floors.of(ARMS, [1.0, 0.0, 0.5], GROUPS)
PLAIN = Floors.of(ARMS, [1.0, 0.0, 0.5])


@st.composite
def tables(draw):
    """Up to six arms, and up to four groups that may overlap."""
    n_arms = draw(st.integers(1, 6))
    amounts = draw(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=n_arms, max_size=n_arms))
    members = draw(st.lists(st.lists(st.integers(0, n_arms - 1), min_size=1, unique=True), max_size=4))
    groups = [GroupFloor(f"group {row}", tuple(map(str, arms)), float(row)) for row, arms in enumerate(members)]
    return Floors.of([str(arm) for arm in range(n_arms)], amounts, groups)


class TestRows:
    def test_arms_come_first_and_groups_after_them(self):
        assert TABLE.names == ("house", "guest", "new", "others", "all")
        assert TABLE.kinds == ("arm", "arm", "arm", "group", "group")
        assert TABLE.amounts.tolist() == [1.0, 0.0, 0.5, 0.0, 2.0]
        assert len(TABLE) == 5
        assert TABLE.n_arms == 3

    def test_members_say_whose_revenue_counts(self):
        assert TABLE.members.astype(int).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]
        assert PLAIN.members.tolist() == np.eye(3, dtype=bool).tolist()
        assert PLAIN.group_members.shape == (0, 3)

    def test_are_read_one_by_one(self):
        """The arms of a group keep the order in which they were given."""
        rows = list(TABLE)
        assert rows[1] == Floor("guest", FloorKind.ARM, 0.0, ("guest",))
        assert rows[3] == ("others", "group", 0.0, ("new", "guest"))
        assert len(rows) == 5

    def test_of_one_kind_are_a_view(self):
        assert TABLE.amounts[TABLE.rows_of("arm")].tolist() == [1.0, 0.0, 0.5]
        assert TABLE.amounts[TABLE.rows_of(FloorKind.GROUP)].tolist() == [0.0, 2.0]
        assert PLAIN.names[PLAIN.rows_of("group")] == ()
        with pytest.raises(ValueError, match="'arms' is not a valid FloorKind"):
            TABLE.rows_of("arms")


class TestTable:
    def test_is_a_frame_of_columns(self):
        frame = pl.DataFrame(TABLE.to_dict())
        assert frame.columns == ["name", "kind", "arms", "floor"]
        assert frame.filter(pl.col("kind") == "group")["floor"].to_list() == [0.0, 2.0]
        assert frame["arms"].to_list()[3] == ["new", "guest"]

    def test_cannot_be_changed(self):
        for part in (TABLE.amounts, TABLE.members, TABLE.group_members):
            with pytest.raises(ValueError, match="read-only"):
                part[0] = 1
        with pytest.raises(dataclasses.FrozenInstanceError):
            TABLE.arms = ()

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
    def test_a_copy_is_equal_and_cannot_be_changed_either(self, copied):
        again = copied(TABLE)
        assert again == TABLE
        assert hash(again) == hash(TABLE)
        assert not again.amounts.flags.writeable

    def test_differs_in_any_part(self):
        """A name, an amount, a kind, a member, or the order of members."""
        others = [
            PLAIN,
            Floors.of(("house", "guest", "old"), PLAIN.amounts),
            Floors.of(ARMS, [1.0, 0.0, 0.25], GROUPS),
            Floors.of(ARMS, [1.0, 0.0, 0.5], GROUPS[::-1]),
            Floors.of(ARMS, [1.0, 0.0, 0.5], (GroupFloor("others", ("guest", "new"), 0.0), GROUPS[1])),
            Floors.of(ARMS, [1.0, 0.0, 0.5], (GroupFloor("others", ("new",), 0.0), GROUPS[1])),
        ]
        assert all(other != TABLE for other in others)
        assert TABLE.to_dict() != TABLE
        assert Floors.of(ARMS, [1.0, -0.0, 0.5]) == PLAIN
        assert hash(Floors.of(ARMS, [1.0, -0.0, 0.5])) == hash(PLAIN)

    def test_prints_as_a_table(self):
        assert repr(TABLE) == "<Floors: 3 arms, 2 groups>"
        assert repr(Floors.of(["only"], [1.0], [GroupFloor("g", ("only",), 1)])) == "<Floors: 1 arm, 1 group>"
        assert str(TABLE).splitlines() == [
            "name    kind   floor  arms",
            "house   arm    1      house",
            "guest   arm    0      guest",
            "new     arm    0.5    new",
            "others  group  0      new, guest",
            "all     group  2      house, guest, new",
        ]

    def test_prints_no_more_than_can_be_read(self):
        names = [f"arm {number}" for number in range(1_034)]
        lines = str(Floors.of(names, np.ones(1_034))).splitlines()
        assert lines[-1] == "... and 1,004 more"
        assert len(lines) == 32
        grouped = Floors.of(names[:20], np.ones(20), [GroupFloor("many", tuple(names[:20]), 1.0)])
        assert str(grouped).splitlines()[-1].endswith("arm 5 and 14 more")


class TestSums:
    def test_over_the_arms_of_each_floor(self):
        assert TABLE.by_floor(np.array([1.0, 2.0, 4.0])).tolist() == [1, 2, 4, 6, 7]
        assert PLAIN.by_floor(np.array([1.0, 2.0, 4.0])).tolist() == [1, 2, 4]

    def test_over_the_floors_of_each_arm(self):
        assert TABLE.by_arm(np.array([1.0, 2.0, 4.0, 8.0, 16.0])).tolist() == [17, 26, 28]
        assert PLAIN.by_arm(np.array([1.0, 2.0, 4.0])).tolist() == [1, 2, 4]

    @given(tables())
    def test_are_those_of_the_members(self, table):
        """Whole numbers, so that every order of adding gives the same sum."""
        by_arm, by_floor = np.arange(1.0, table.n_arms + 1), np.arange(1.0, len(table) + 1)
        assert table.by_floor(by_arm).tolist() == (table.members.astype(float) @ by_arm).tolist()
        assert table.by_arm(by_floor).tolist() == (by_floor @ table.members.astype(float)).tolist()


class TestCouplingRows:
    def test_a_floor_of_zero_has_no_row_unless_asked_for(self):
        assert TABLE.coupling_rows().floors.tolist() == [1.0, NO_FLOOR, 0.5, NO_FLOOR, 2.0]
        assert TABLE.coupling_rows(zero_floors=True).floors.tolist() == [1.0, 0.0, 0.5, 0.0, 2.0]
        assert without_zeros([-1.0, 0.0, -0.0]).tolist() == [-1.0, NO_FLOOR, NO_FLOOR]

    def test_of_arms_alone_have_one_column(self):
        """By which a kernel knows that row k is arm k's."""
        assert PLAIN.coupling_rows().arm_rows.tolist() == [[1], [2], [3]]

    def test_of_groups_follow_an_arm_s_own(self):
        assert TABLE.rows_of_arms() == [[1, 5], [2, 4, 5], [3, 4, 5]]
        assert TABLE.coupling_rows().arm_rows.tolist() == [[1, 5, 0], [2, 4, 5], [3, 4, 5]]

    @given(tables())
    def test_are_the_members_read_by_arm(self, table):
        arm_rows = table.coupling_rows().arm_rows
        assert arm_rows.dtype == np.int64
        assert arm_rows.flags.c_contiguous
        assert arm_rows.shape[1] == table.members.sum(axis=0).max()
        for arm, own in enumerate(arm_rows.tolist()):
            assert [row - 1 for row in own if row] == np.flatnonzero(table.members[:, arm]).tolist()

    def test_belong_to_the_caller(self):
        """A policy writes a changed floor in them, which must not reach the table or another's rows."""
        first, second = TABLE.coupling_rows(zero_floors=True), TABLE.coupling_rows(zero_floors=True)
        first.floors[:] = 9.0
        first.arm_rows[:] = 9
        assert second.floors.tolist() == TABLE.amounts.tolist()
        assert second.arm_rows.tolist() == TABLE.coupling_rows().arm_rows.tolist()
        assert isinstance(first, CouplingRows)

    def test_single_rows_that_are_not_an_arm_s_own_get_a_second_column(self):
        """Rows in another order, rows of sign -1, and more rows than arms."""
        assert arm_rows_of([[2], [1]], 2).tolist() == [[2, 0], [1, 0]]
        assert arm_rows_of([[1], [-2]], 2).tolist() == [[1, 0], [-2, 0]]
        assert arm_rows_of([[1], [2]], 3).tolist() == [[1, 0], [2, 0]]
        assert arm_rows_of([[1], [2]], 2).tolist() == [[1], [2]]


class TestOfAnInstance:
    INSTANCE = Instance(
        np.ones((3, 2)), [1, 0, 0.5], [0.5, 0.5], arms=ARMS, group_floors=[GroupFloor("others", (2, "guest"), 0.25)]
    )

    def test_holds_all_floors(self):
        """By name, whichever way a group names its arms."""
        assert self.INSTANCE.floors == Floors.of(ARMS, [1, 0, 0.5], [GroupFloor("others", ("new", "guest"), 0.25)])

    def test_is_what_the_two_kinds_are_views_of(self):
        instance = self.INSTANCE
        assert np.shares_memory(instance.revenue_floors, instance.floors.amounts)
        assert instance.revenue_floors.tolist() == [1.0, 0.0, 0.5]
        assert instance.group_floors == (GroupFloor("others", ("new", "guest"), 0.25),)
        assert instance.group_members is instance.floors.group_members

    def test_cannot_be_replaced(self):
        for view in ("floors", "revenue_floors", "group_floors"):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(self.INSTANCE, view, None)


def test_a_group_floor_as_plain_data_gives_it_back():
    group = GroupFloor("others", ("new", 1), 0.25)
    assert group.to_dict() == {"name": "others", "arms": ["new", 1], "floor": 0.25}
    assert GroupFloor(**group.to_dict()) == group


def test_stand_ins_for_names_are_not_names():
    """Arms without names are called by index, and a group may have the name of a stand-in."""
    groups = named_groups([GroupFloor("1", (0, 1), 0.5)], ["0", "1"], arms_have_names=False)
    assert groups == (GroupFloor("1", ("0", "1"), 0.5),)
    assert Floors.of(["0", "1"], [0, 0], groups).names == ("0", "1", "1")


def test_docstring_examples_give_what_they_show():
    """An example in a docstring is an assertion."""
    failed, attempted = doctest.testmod(floors)
    assert attempted
    assert failed == 0
