"""The table of codes, the page that lists them, and the rules that give them."""

import re
from pathlib import Path

import pytest

import kube
from kube.reason_codes import CODES, reason
from kube.reasons import FreedBy

PACKAGE = Path(kube.__file__).parent
PAGE = PACKAGE.parent / "docs/how/why.md"


def test_the_page_lists_every_code_as_it_is():
    rows = re.findall(
        r"^\| (\S+) \| `(\w+)` \| (\w+) \| (yes)? ?\| (.*) \|$", PAGE.read_text(), re.M
    )
    told = {
        code: (stage, freed_by, bool(never), meaning)
        for stage, code, freed_by, never, meaning in rows
    }
    assert told == {
        code: (str(known.stage or "-"), str(known.freed_by), known.never, known.meaning)
        for code, known in CODES.items()
    }


def test_the_page_names_every_one_who_can_end_a_reason():
    text = PAGE.read_text()
    assert [each for each in FreedBy if f"`{each}`" not in text] == []


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_is_given_by_some_rule(code):
    sources = [path for path in PACKAGE.glob("*.py") if path.name != "reason_codes.py"]
    assert any(f'"{code}"' in path.read_text() for path in sources)


def test_a_reason_has_what_always_holds_for_its_code():
    made = reason("max_capacity", asked=4)
    assert (made.stage, made.never, made.freed_by, made.asked) == ("quota", True, "quota", 4)
    assert reason("lost_the_race").oscillating
    assert reason("max_capacity", never=False).never is False
    with pytest.raises(KeyError):
        reason("of_tomorrow")


def test_meanings_are_sentences():
    assert [
        code for code, known in CODES.items() if not re.fullmatch(r"[A-Z].*\.", known.meaning)
    ] == []
    assert max(map(len, CODES)) <= 48
