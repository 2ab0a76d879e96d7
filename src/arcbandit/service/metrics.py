"""Numbers for Prometheus, gathered when they are asked for: counting costs a request next to nothing."""

from bisect import bisect_left
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from arcbandit.service.clock import SECOND
from arcbandit.service.service import Service

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"


class Latency:
    """How long requests of a kind took."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._total = 0.0

    def note(self, seconds: float) -> None:
        """Count a request."""
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._total += seconds

    def buckets(self) -> tuple[list[tuple[str, float]], float]:
        """How many requests took at most so long, and how long all took."""
        found, below = [], 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self._counts, strict=True):
            below += count
            found.append((bound, float(below)))
        return found, self._total


class Metrics(Collector):
    """What is known of a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.latency = {"decide": Latency(), "rewards": Latency()}
        self.answers: dict[tuple[str, int], int] = {}  # by kind of request and status
        self.shed = 0
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def note(self, kind: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.answers[kind, status] = self.answers.get((kind, status), 0) + 1
        if kind in self.latency:
            self.latency[kind].note(seconds)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """The metrics of this moment."""
        service = self._service
        answers = CounterMetricFamily("arcbandit_answers", "Answers by kind and status.", labels=["kind", "status"])
        for (kind, status), count in sorted(self.answers.items()):
            answers.add_metric([kind, str(status)], count)
        yield answers
        events = CounterMetricFamily(
            "arcbandit_events", "Decisions and rewards by what became of them.", labels=["event"]
        )
        for event, count in service.counts.items():
            events.add_metric([event], count)
        yield events
        yield CounterMetricFamily("arcbandit_shed", "Requests that were turned away before any work.", value=self.shed)
        durations = HistogramMetricFamily("arcbandit_seconds", "How long requests took.", labels=["kind"])
        for kind, latency in self.latency.items():
            buckets, total = latency.buckets()
            durations.add_metric([kind], buckets, total)
        yield durations
        yield GaugeMetricFamily(
            "arcbandit_store_writable", "Whether the store has room.", value=float(service.store.is_writable)
        )
        yield GaugeMetricFamily(
            "arcbandit_leads", "Whether this process is the one that plans.", value=float(service.leads)
        )
        versions = GaugeMetricFamily("arcbandit_plan_version", "The plan in force.", labels=["campaign"])
        ages = GaugeMetricFamily(
            "arcbandit_plan_age_seconds", "Since the plan was made or found to hold.", labels=["campaign"]
        )
        stuck = GaugeMetricFamily(
            "arcbandit_plan_not_proven", "Whether no new plan could be made.", labels=["campaign"]
        )
        every = GaugeMetricFamily(
            "arcbandit_replan_every_seconds", "How often there may be a new plan.", labels=["campaign"]
        )
        overdue = GaugeMetricFamily(
            "arcbandit_plan_overdue_seconds",
            "For how long a new plan has been due, where this process plans.",
            labels=["campaign"],
        )
        late = GaugeMetricFamily(
            "arcbandit_plan_late", "Whether a new plan has been due for longer than a whole turn.", labels=["campaign"]
        )
        now = service.store.now()
        for name, campaign in service.campaigns.items():
            versions.add_metric([name], campaign.plan.version)
            ages.add_metric([name], max(0, now - campaign.plan.made_at) / SECOND)
            stuck.add_metric([name], float(name in service.warnings))
            punctuality = service.punctuality(name)
            every.add_metric([name], punctuality.every_seconds)
            if punctuality.overdue_seconds is not None:
                overdue.add_metric([name], punctuality.overdue_seconds)
                late.add_metric([name], float(punctuality.is_late))
        yield from (versions, ages, stuck, every, overdue, late)
