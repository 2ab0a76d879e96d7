"""The literature that pages and docstrings cite by key, from docs/references.bib."""

import re

from docs.site.contents import DOCS

ENTRY = re.compile(r"@\w+\{([^,]+),(.*?)\n\}", re.DOTALL)
FIELD = re.compile(r"(\w+)\s*=\s*\{(.*?)\}\s*,?\s*$", re.MULTILINE | re.DOTALL)


def literature_page() -> str:
    """The page, with one entry for each key."""
    lines = ["# Literature\n", "Pages and docstrings cite by these keys.\n", "| key | |", "|---|---|"]
    text = (DOCS / "references.bib").read_text(encoding="utf-8")
    for key, body in sorted(ENTRY.findall(text)):
        fields = {name.lower(): _plain(value) for name, value in FIELD.findall(body)}
        preprint = f"arXiv {fields['eprint']}" if "eprint" in fields else ""
        where = fields.get("journal") or fields.get("booktitle") or fields.get("publisher") or preprint
        told = [fields.get("author", "").replace(" and ", "; "), f"*{fields['title']}*", where, fields.get("year", "")]
        lines.append(f"| `{key}` | {'. '.join(part for part in told if part).replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def _plain(value: str) -> str:
    return " ".join(value.replace("{", "").replace("}", "").split())
