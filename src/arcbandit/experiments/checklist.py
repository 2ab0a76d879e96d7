"""Every item of the paper, with where it is tested or shown."""

from arcbandit.report.reproduction.entries import ChecklistEntry

CHECKLIST: tuple[ChecklistEntry, ...] = ()
