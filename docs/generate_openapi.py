"""Write the description of the HTTP API: python -m docs.generate_openapi."""

import json
from pathlib import Path

from arcbandit.service.openapi import document

PAGE = Path(__file__).with_name("openapi.json")


def page() -> str:
    """The document as it should be."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
