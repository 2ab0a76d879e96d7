"""What came out of one experiment."""

from dataclasses import dataclass

from arcbandit.experiments.experiment import Experiment, Recorded, Verdict
from arcbandit.report.charts import Sheet
from arcbandit.report.tables import NumberTable


@dataclass(frozen=True)
class Result:
    """An experiment, what it recorded and the verdicts on its claims."""

    experiment: Experiment
    recorded: Recorded
    verdicts: tuple[Verdict, ...]
    seconds: float

    @property
    def figure(self) -> Sheet:
        """The figure of what was recorded."""
        return self.experiment.figure(self.recorded)

    @property
    def tables(self) -> tuple[NumberTable, ...]:
        """The tables of what was recorded."""
        return self.experiment.tables(self.recorded)
