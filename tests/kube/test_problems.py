"""Problems, their words, and the page that explains the codes."""

import re
from pathlib import Path

import pytest

from kube.messages import MESSAGES
from kube.problems import InvalidCatalog, Problem, Refused, errors, problem, shown, warnings

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "error-codes.md"


def test_a_problem_says_where_and_what():
    made = problem("flavors[a].capacity", "GP-2114", limit=5)
    assert made == Problem(
        "flavors[a].capacity", "GP-2114", "too large: at most 5", "error", (("limit", 5),)
    )
    assert str(made) == "error GP-2114 flavors[a].capacity: too large: at most 5"


def test_a_problem_without_field_has_no_colon_before_it():
    assert str(problem("", "GP-2110", "warning")) == "warning GP-2110 enter a number"


def test_a_refusal_becomes_a_problem_at_a_field():
    refused = Refused(code="GP-2114", limit=5)
    assert refused.at("x") == problem("x", "GP-2114", limit=5)
    assert str(refused) == "too large: at most 5"


def test_values_that_are_not_printable_are_escaped_in_the_words():
    made = problem("x", "GP-2150", name="a\nb\u202e")
    assert made.message == r"the name 'a\nb\u202e' is used twice"
    assert made.params == (("name", "a\nb\u202e"),)


def test_an_invalid_catalog_keeps_all_problems():
    both = [problem("a", "GP-2103"), problem("b", "GP-2103", "warning")]
    error = InvalidCatalog(both)
    assert error.problems == tuple(both)
    assert str(error).count("\n") == 1


def test_errors_and_warnings_are_told_apart():
    both = (problem("a", "GP-2103"), problem("b", "GP-2103", "warning"))
    assert errors(both) == both[:1]
    assert warnings(both) == both[1:]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("a", "'a'"),
        ("é", r"'\xe9'"),
        ("x" * 50, "'" + "x" * 40 + "...'"),
        (None, "NoneType"),
        (5, "int"),
    ],
)
def test_untrusted_input_is_shown_cut_and_in_ascii(value, words):
    assert shown(value) == words


def test_every_code_has_one_form():
    assert all(re.fullmatch(r"GP-2[12][0-9]{2}", code) for code in MESSAGES)


def test_every_code_is_used_in_the_source():
    sources = "".join(
        path.read_text() for path in (ROOT / "kube").rglob("*.py") if path.name != "messages.py"
    )
    assert [code for code in MESSAGES if f'"{code}"' not in sources] == []


def test_the_page_of_codes_says_exactly_what_the_code_says():
    listed = re.findall(
        r"^\| (GP-2[12][0-9]{2}) \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    said = {code: re.sub(r"{(\w+)}", r"*\1*", text) for code, text in MESSAGES.items()}
    assert dict(listed) == said
    assert len(listed) == len(said)
