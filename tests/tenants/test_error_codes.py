"""Every code that this app can answer with is explained, and none that it cannot."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"GP-1[123]\d\d")


def test_codes_and_their_page_are_the_same():
    used = {
        code for path in (ROOT / "tenants").rglob("*.py") for code in CODE.findall(path.read_text())
    }
    explained = set(
        re.findall(
            r"^\| (GP-1[123]\d\d) ", (ROOT / "docs/error-codes.md").read_text(), re.MULTILINE
        )
    )

    assert used == explained
