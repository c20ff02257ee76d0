"""Every code of this app is explained, and none that it does not have."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_codes_and_their_page_are_the_same():
    text = (ROOT / "docs/error-codes.md").read_text()
    explained = set(re.findall(r"^\| (GP-5\d{3}) ", text, re.MULTILINE))
    used = {
        code
        for path in (ROOT / "costs").rglob("*.py")
        for code in re.findall(r"GP-5\d{3}", path.read_text())
    }
    assert used == explained
