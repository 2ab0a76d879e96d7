"""What every store must pass: subclass `StoreContract` in a test module, with a fixture that opens a store.

The fixture `open_store` returns a function `open_store(clocks) -> Store`, which opens the same store each time it is
called, after the last one was closed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from arcbandit.errors import NameTakenError, RequestIdUsedError, StaleError
from arcbandit.service.amounts import PairTotals
from arcbandit.service.campaigns import CampaignRecord, CampaignSettings, PlanRecord, bytes_of
from arcbandit.service.clock import Clocks
from arcbandit.service.judgement import Verdict
from arcbandit.service.store import DecisionDraft, DecisionRecord, RewardDraft, Store

Made = TypeVar("Made")
OpenStore = Callable[[Clocks], Store]

HOUR, DAY = 3600.0, 86400.0
POLICY: dict[str, Any] = {
    "policy": "blp",
    "configuration": {
        "arms": ["house", "guest"],
        "contexts": ["phone", "tv"],
        "available": [[True, True], [True, True]],
        "retired": [],
        "dropped": [],
        "reward_bounds": None,
        "revenue_floors": [0.0, 0.0],
        "group_floors": [],
    },
}


class VirtualClock:
    """A clock that goes on when it is told to; its wall time may jump."""

    def __init__(self) -> None:
        self.elapsed = 0.0
        self.wall = 1_700_000_000.0

    def clocks(self) -> Clocks:
        """As a store takes them."""
        return Clocks(wall=lambda: self.wall, monotonic=lambda: self.elapsed)

    def wait(self, seconds: float) -> None:
        """Let time go by."""
        self.elapsed += seconds
        self.wall += seconds


async def refused(kind: type[Exception], call: Awaitable[Any]) -> bool:
    """Whether a call raises an error of this kind."""
    try:
        await call
    except kind:
        return True
    return False


def draft(campaign: CampaignRecord, *, context: int = 0, arm: int = 0, **others: Any) -> DecisionDraft:
    """A decision to record."""
    return DecisionDraft(campaign.id, context, arm, 0.1 + 0.2, 0.25, 1, **others)


class StoreContract:
    """Promises of `Store`, each as a test."""

    def played(self, open_store: OpenStore, play: Callable[[Store, VirtualClock], Awaitable[Made]]) -> Made:
        """What comes of a test in an event loop of its own."""
        clock = VirtualClock()

        async def run() -> Made:
            store = open_store(clock.clocks())
            try:
                return await play(store, clock)
            finally:
                await store.close()

        return asyncio.run(run())

    def test_a_decision_is_kept_as_it_was_made(self, open_store: OpenStore) -> None:
        """After it was closed and opened again, the store has it to the last bit."""
        clock = VirtualClock()

        async def play() -> None:
            store = open_store(clock.clocks())
            campaign, _ = await store.create_campaign("films", CampaignSettings(), POLICY)
            made, repeated = await store.record_decision(draft(campaign, context=1, arm=1, excluded=(0,)))
            await store.close()
            assert not repeated
            again = open_store(clock.clocks())
            (logged,) = again.reader().decisions(campaign.id)
            found = await again.statistics(campaign.id)
            await again.close()
            assert logged.decision == made
            assert (made.probability, made.uniform, made.excluded) == (0.1 + 0.2, 0.25, (0,))
            assert logged.reward is None
            assert found.pairs == {(1, 1): PairTotals(decisions=1)}

        asyncio.run(play())

    def test_sequence_numbers_go_on_after_a_restart(self, open_store: OpenStore) -> None:
        """An id that was given out is never given out again."""

        async def play() -> list[int]:
            numbers = []
            for start in range(3):
                store = open_store(VirtualClock().clocks())
                if start == 0:
                    await store.create_campaign("films", CampaignSettings(), POLICY)
                ((campaign, _),) = await store.load()
                numbers.append((await store.record_decision(draft(campaign)))[0].sequence)
                await store.close()
            return numbers

        numbers = asyncio.run(play())
        assert numbers == sorted(set(numbers))

    def test_a_reward_counts_once(self, open_store: OpenStore) -> None:
        """However often it comes, in one call or in several; another value does not count at all."""

        async def play(store: Store, clock: VirtualClock) -> None:
            campaign, _ = await store.create_campaign("films", CampaignSettings(), POLICY)
            made, _ = await store.record_decision(draft(campaign))
            one = RewardDraft(made.sequence, 5)
            first = await store.record_rewards(campaign.id, [one, one, RewardDraft(made.sequence, 6)])
            later = await store.record_rewards(campaign.id, [one, RewardDraft(made.sequence, 6)])
            assert first == [Verdict.COUNTED, Verdict.REPEATED, Verdict.CONFLICT]
            assert later == [Verdict.REPEATED, Verdict.CONFLICT]
            assert (await store.statistics(campaign.id)).pairs == {(0, 0): PairTotals(1, 1, 5, 25)}

        self.played(open_store, play)

    def test_what_is_not_known_does_not_count(self, open_store: OpenStore) -> None:
        """An id that was never given out, and one of another campaign."""

        async def play(store: Store, clock: VirtualClock) -> None:
            films, _ = await store.create_campaign("films", CampaignSettings(), POLICY)
            songs, _ = await store.create_campaign("songs", CampaignSettings(), POLICY)
            made, _ = await store.record_decision(draft(films))
            wrong = [RewardDraft(None, 1), RewardDraft(made.sequence + 1, 1)]
            assert await store.record_rewards(films.id, wrong) == [Verdict.UNKNOWN] * 2
            assert await store.record_rewards(songs.id, [RewardDraft(made.sequence, 1)]) == [Verdict.UNKNOWN]
            assert (await store.statistics(films.id)).rewards == 0

        self.played(open_store, play)

    def test_a_reward_past_retention_is_gone(self, open_store: OpenStore) -> None:
        """But one that was counted in time may still be repeated."""

        async def play(store: Store, clock: VirtualClock) -> None:
            campaign, _ = await store.create_campaign("films", CampaignSettings(retention_seconds=DAY), POLICY)
            made = [(await store.record_decision(draft(campaign)))[0].sequence for _ in range(2)]
            await store.record_rewards(campaign.id, [RewardDraft(made[0], 5)])
            clock.wait(DAY)
            drafts = [RewardDraft(made[0], 5), RewardDraft(made[1], 5)]
            assert await store.record_rewards(campaign.id, drafts) == [Verdict.REPEATED, Verdict.GONE]

        self.played(open_store, play)

    def test_a_late_reward_replaces_the_default_once(self, open_store: OpenStore) -> None:
        """The default counts when its window is over, not before, and only where no reward came."""

        async def play(store: Store, clock: VirtualClock) -> None:
            settings = CampaignSettings(reward_window_seconds=HOUR, default_reward=0.000002)
            campaign, _ = await store.create_campaign("films", settings, POLICY)
            other, _ = await store.create_campaign("songs", settings, POLICY)
            made = [(await store.record_decision(draft(campaign)))[0].sequence for _ in range(3)]
            await store.record_rewards(campaign.id, [RewardDraft(made[0], 7)])
            clock.wait(HOUR - 1)
            await store.count_defaults(100)
            assert (await store.statistics(campaign.id)).rewards == 1
            clock.wait(1)
            found = []
            while (one := await store.count_defaults(2)).looked_at:
                found.append(one.counted)
            assert sum(one.get(campaign.id, 0) for one in found) == 2
            assert other.id not in {number for one in found for number in one}
            assert (await store.statistics(campaign.id)).pairs == {(0, 0): PairTotals(3, 3, 11, 57)}
            late = RewardDraft(made[1], 10)
            verdicts = await store.record_rewards(campaign.id, [late, late])
            assert verdicts == [Verdict.REPLACED_DEFAULT, Verdict.REPEATED]
            assert (await store.statistics(campaign.id)).pairs == {(0, 0): PairTotals(3, 3, 19, 153)}
            rewards = [(one.reward, one.is_default) for one in store.reader().decisions(campaign.id)]
            assert rewards == [(7, False), (10, False), (2, True)]

        self.played(open_store, play)

    def test_a_request_id_gives_the_same_decision_for_a_day(self, open_store: OpenStore) -> None:
        """Also within one commit, and after a restart; then it may be used again."""
        clock = VirtualClock()

        async def play() -> None:
            store = open_store(clock.clocks())
            campaign, _ = await store.create_campaign("films", CampaignSettings(), POLICY)
            asked = [store.record_decision(draft(campaign, arm=arm, request_id="one")) for arm in (0, 1, 0)]
            answers = await asyncio.gather(*asked)
            assert len({made for made, _ in answers}) == 1
            assert sorted(repeated for _, repeated in answers) == [False, True, True]
            await store.close()
            clock.wait(DAY - HOUR)
            again = open_store(clock.clocks())
            found, repeated = await again.record_decision(draft(campaign, arm=1, request_id="one"))
            assert repeated
            assert found == answers[0][0]
            assert await again.decision_of(campaign.id, "one") == found
            assert await again.decision_of(campaign.id, "two") is None
            assert await again.decision_of(campaign.id + 1, "one") is None
            clock.wait(HOUR)
            assert await again.decision_of(campaign.id, "one") is None
            new, repeated = await again.record_decision(draft(campaign, arm=1, request_id="one"))
            assert not repeated
            assert new.sequence > found.sequence
            assert (await again.statistics(campaign.id)).decisions == 2
            await again.close()

        asyncio.run(play())

    def test_a_request_id_with_another_question_is_refused(self, open_store: OpenStore) -> None:
        """Another context, or other excluded arms; others in the same commit are not disturbed."""

        async def play(store: Store, clock: VirtualClock) -> None:
            campaign, _ = await store.create_campaign("films", CampaignSettings(), POLICY)
            await store.record_decision(draft(campaign, request_id="one"))
            wrong = [
                refused(RequestIdUsedError, store.record_decision(draft(campaign, context=1, request_id="one"))),
                refused(RequestIdUsedError, store.record_decision(draft(campaign, excluded=(1,), request_id="one"))),
            ]
            other: Awaitable[tuple[DecisionRecord, bool]] = store.record_decision(draft(campaign, request_id="two"))
            first, second, _ = await asyncio.gather(*wrong, other)
            assert first
            assert second
            assert (await store.statistics(campaign.id)).decisions == 2

        self.played(open_store, play)

    def test_old_request_ids_are_forgotten(self, open_store: OpenStore) -> None:
        """None before its day is over."""

        async def play(store: Store, clock: VirtualClock) -> None:
            campaign, _ = await store.create_campaign("films", CampaignSettings(), POLICY)
            for number in range(5):
                await store.record_decision(draft(campaign, request_id=str(number)))
            assert await store.forget_requests(100) == 0
            clock.wait(DAY)
            assert await store.forget_requests(3) == 3
            assert await store.forget_requests(3) == 2

        self.played(open_store, play)

    def test_plans_follow_one_another(self, open_store: OpenStore) -> None:
        """A plan for a version or a revision that is not in force is stale; earlier ones can be read."""

        async def play(store: Store, clock: VirtualClock) -> None:
            campaign, first = await store.create_campaign("films", CampaignSettings(), POLICY)
            second = await store.publish_plan(campaign.id, _plan(2, 1))
            assert await refused(StaleError, store.publish_plan(campaign.id, _plan(2, 1)))
            assert await refused(StaleError, store.publish_plan(campaign.id, _plan(4, 1)))
            changed, adjusted = await store.change_campaign(campaign, POLICY, {"change": "set_floor"}, 0)
            assert (changed.revision, adjusted.version, adjusted.allocation) == (2, 3, second.allocation)
            assert await refused(StaleError, store.publish_plan(campaign.id, _plan(4, 1)))
            assert await refused(StaleError, store.change_campaign(campaign, POLICY, {"change": "set_floor"}, 0))
            last = await store.publish_plan(campaign.id, _plan(4, 2))
            assert [await store.plan(campaign.id, version) for version in (1, 2, 3, 4, 5)] == [
                first,
                second,
                adjusted,
                last,
                None,
            ]
            assert await store.load() == [(changed, last)]

        self.played(open_store, play)

    def test_a_campaign_has_a_name_of_its_own(self, open_store: OpenStore) -> None:
        """A second of the same name is refused, and changes nothing."""

        async def play(store: Store, clock: VirtualClock) -> None:
            made = await store.create_campaign("films", CampaignSettings(), POLICY)
            assert await refused(NameTakenError, store.create_campaign("films", CampaignSettings(), POLICY))
            assert await store.load() == [made]

        self.played(open_store, play)

    def test_a_wall_clock_that_jumps_moves_no_window(self, open_store: OpenStore) -> None:
        """Forward or back while it runs, or back between two runs."""
        clock = VirtualClock()

        async def play() -> None:
            store = open_store(clock.clocks())
            settings = CampaignSettings(reward_window_seconds=HOUR, default_reward=1.0)
            campaign, _ = await store.create_campaign("films", settings, POLICY)
            await store.record_decision(draft(campaign, request_id="one"))
            clock.wall += 10 * DAY
            await store.count_defaults(100)
            assert (await store.record_decision(draft(campaign, request_id="one")))[1]
            clock.wall -= 20 * DAY
            before = store.now()
            await store.close()
            again = open_store(clock.clocks())
            assert again.now() >= before
            assert (await again.statistics(campaign.id)).rewards == 0
            await again.close()

        asyncio.run(play())

    def test_what_was_too_late_stays_too_late(self, open_store: OpenStore) -> None:
        """Also after a restart with a clock that was set back."""
        clock = VirtualClock()

        async def play() -> list[Verdict]:
            store = open_store(clock.clocks())
            campaign, _ = await store.create_campaign("films", CampaignSettings(retention_seconds=DAY), POLICY)
            made, _ = await store.record_decision(draft(campaign, request_id="one"))
            clock.wait(DAY)
            verdicts = await store.record_rewards(campaign.id, [RewardDraft(made.sequence, 5)])
            before = store.now()
            await store.close()
            clock.wall -= 10 * DAY
            again = open_store(clock.clocks())
            assert again.now() >= before
            verdicts += await again.record_rewards(campaign.id, [RewardDraft(made.sequence, 5)])
            assert not (await again.record_decision(draft(campaign, request_id="one")))[1]
            await again.close()
            return verdicts

        assert asyncio.run(play()) == [Verdict.GONE, Verdict.GONE]


def _plan(version: int, revision: int) -> PlanRecord:
    import numpy as np

    allocation = np.array([[0.3, 1.0], [0.7, 0.0]])
    return PlanRecord(version, revision, 0, 0, 0, "planned", 2, bytes_of(allocation), {"prices": [0.5]})
