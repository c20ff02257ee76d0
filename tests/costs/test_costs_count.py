"""Counting by hand: one line for each run, and a sentence for what cannot be."""

import io

import pytest
from django.core.management import CommandError, call_command

from costs.models import Run
from tests.costs.ledger_rows import ITEMS, book_of, closed
from tests.costs.watched import Watched, after

pytestmark = pytest.mark.django_db


@pytest.fixture
def watched(lab, monkeypatch):
    return Watched(lab.cluster, monkeypatch)


def run(*arguments):
    out = io.StringIO()
    call_command("costs_count", *arguments, stdout=out)
    return out.getvalue().splitlines()


def test_counts_the_last_hour(watched):
    watched.now = after(125)
    (line,) = run("lab")
    found = Run.objects.get()
    assert (found.starts, found.ends) == (after(60), after(120))
    assert line == f"{after(60):%FT%RZ} {after(120):%FT%RZ} {found.result}"


def test_counts_from_and_to_whole_hours_of_utc(watched):
    watched.now = after(300)
    run("lab", "--from", f"{after(60):%FT%R}", "--to", f"{after(180):%FT%R}+00:00")
    run("lab", "--to", after(120).isoformat())
    *first, last = Run.objects.order_by("pk").values_list("starts", "ends")
    # Where a sixth hour of the day lies between them, it takes two.
    assert (first[0][0], first[-1][1], len(first) <= 2) == (after(60), after(180), True)
    assert last == (after(60), after(120))


def test_counts_six_hours_at_a_time(watched):
    watched.now = after(0)
    lines = run("lab", "--from", f"{after(-60 * 49):%FT%RZ}")
    found = list(Run.objects.order_by("starts"))
    assert len(lines) == len(found) in (9, 10)
    assert (found[0].starts, found[-1].ends) == (after(-60 * 49), after(0))
    assert max(each.ends - each.starts for each in found) == after(360) - after()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "no cluster is registered as 'nowhere'"),
        (["lab", "--from", "yesterday"], "--from: write a time like 2026-11-30T08:00Z"),
        (["lab", "--to", "2026-11-01T08:30Z"], "GP-5404 Only whole hours"),
        (["lab", "--from", "2026-11-02T08:00Z", "--to", "2026-11-01T08:00Z"],
         "GP-5404 There is no hour to count"),
        (["lab", "--to", "2126-11-01T08:00Z"], "GP-5401 Only hours before"),
    ],
)  # fmt: skip
def test_says_what_cannot_be(lab, arguments, said):
    with pytest.raises(CommandError, match=said):
        run(*arguments)
    assert not Run.objects.exists()


def test_says_that_a_period_is_closed(lab):
    closed(lab, book_of(lab), 10, *ITEMS)
    with pytest.raises(CommandError, match="GP-5402 The hours from 2026-10-01T00:00Z"):
        run("lab", "--from", "2026-10-02T00:00Z", "--to", "2026-10-02T01:00Z")
