"""Every code that the shell can answer with is explained, and none that it cannot."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_codes_and_their_page_are_the_same():
    text = (ROOT / "docs/error-codes.md").read_text()
    explained = set(re.findall(r"^\| (GP-1[045]\d\d) ", text, re.MULTILINE))
    used = {
        code
        for path in (ROOT / "portal").rglob("*.py")
        for code in re.findall(r"GP-1[045]\d\d", path.read_text())
    }

    assert used == explained
