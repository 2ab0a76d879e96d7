"""The page as one file that needs nothing else."""

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files

from arcbandit.report.page import STYLE
from arcbandit.report.reproduction import sections
from arcbandit.report.reproduction.entries import Story
from arcbandit.report.reproduction.opening import opening
from arcbandit.report.reproduction.panels import data_blocks


def reproduction_page(story: Story) -> str:
    """The page as self-contained HTML: readable without scripts; the one script it allows is its own."""
    title = f"Reproduction of {story.paper.title}"
    script = packaged("page_script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    body = "\n".join(
        (
            opening(story),
            sections.experiments(story.experiments),
            sections.settings(story.settings),
            sections.claims(story.experiments),
            sections.checklist(story.checklist, story.experiments),
        )
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escape(title)}</title>
<style>
{STYLE}
{packaged("page_style.css")}
</style>
</head>
<body>
{body}
{data_blocks(story.experiments)}
<script>{script}</script>
</body>
</html>
"""


@cache
def packaged(name: str) -> str:
    """The text of a file that is installed beside this one."""
    return files("arcbandit.report.reproduction").joinpath(name).read_text(encoding="utf-8")
