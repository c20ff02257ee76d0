"""What jobs lost with their places: since the checkpoint, by cause, and without other names."""

import csv
import io
from datetime import timedelta

import pytest
import time_machine

from costs.lost import Funder, LostRule
from costs.policy import Policy
from costs.services import prices
from queues.models import Eviction, Lifetime
from tenants.models import Revision
from tests.costs import stored
from tests.costs.ledger_rows import OCTOBER, book_of
from tests.costs.losing import clock, evict, run
from tests.kube.kueue_life import START
from tests.query_counts import counted
from tests.queues import pages
from tests.queues.test_history import SECRET, Town

URL = "/t/nlp/costs/lost/"
CSV = "/t/nlp/costs/lost.csv"
MONTH = {"month": f"{START:%Y-%m}"}


@pytest.fixture
def town(lab):
    return Town(lab.cluster)


def stopped(town, name, by, **ran):
    """A job runs for a while and loses its place to another one."""
    town.job(name)
    town.start(name)
    town.wait(**ran)
    town.stop(name, by=by)


def rows(client, url=CSV):
    answer = client.get(url, MONTH)
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))


def test_all_that_ran_is_lost_without_a_checkpoint(town, lab, client):
    town.job("boss", namespace="cv")
    stopped(town, "train", "boss", hours=2, minutes=10)
    client.force_login(lab.alice)
    (row,) = rows(client)
    devices = int(row["devices"])
    said = stored.said(client.get(URL, MONTH))

    assert int(row["lost_s"]) == devices * 130 * 60
    assert "start: no checkpoint known" in said
    assert f"Lost {devices * 13 / 6:.2f} GPU-h since the last known checkpoint" in said


def test_only_what_came_after_the_checkpoint_is_lost(town, lab, client):
    """The worked example: 16 GPUs, two hours and ten minutes, a checkpoint every thirty minutes."""
    town.job("train").start("train")
    at = town.now + timedelta(hours=2, minutes=10)
    Eviction.objects.create(
        cluster=lab.cluster, lifetime=Lifetime.objects.get(), number=1, attempt=1, at=at,
        quality="exact", cause="preempted_in_queue", queue="nlp-train", priority=0, devices=16,
        running_since=town.now, checkpoint_at=at - timedelta(minutes=10), lost_seconds=16 * 600,
    )  # fmt: skip
    client.force_login(lab.alice)

    assert rows(client)[0]["lost_h"] == "2.666667"
    assert "Lost 2.67" in stored.said(client.get(URL, MONTH))
    assert "last checkpoint" in stored.said(client.get(URL, MONTH))


def test_who_took_the_place_has_a_name_only_if_it_is_an_own_job(town, lab, client):
    town.job("theirs", namespace="cv")
    town.job("urgent")
    stopped(town, "first", "theirs", hours=1)
    stopped(town, "second", "urgent", hours=1)
    client.force_login(lab.alice)
    page = client.get(URL, MONTH)

    assert "a job of another team" in stored.said(page)
    assert "the job “urgent”" in stored.said(page)
    for text in (SECRET, "theirs"):
        assert text not in pages.text(page)
    assert "theirs" not in client.get(CSV, MONTH).content.decode()


def test_finance_reads_sums_and_no_names_of_jobs(town, lab, client):
    stopped(town, "secret-model", "boss", hours=1)
    client.force_login(lab.frank)
    page = client.get(URL, MONTH)

    assert "a job" in stored.said(page)
    assert "secret-model" not in pages.text(page)
    assert rows(client)[0]["job"] == ""


def test_an_eviction_belongs_to_whom_the_queue_had_then(town, lab, client):
    """The same queue belonged to cv before: what it lost then is not nlp's."""
    stopped(town, "old", "boss", hours=1)
    moved = dict(Revision.objects.get().catalog)
    moved["tenants"] = [
        each | {"queues": [q for q in each["queues"] if q["name"] != "nlp-train"]}
        for each in moved["tenants"]
    ]
    with time_machine.travel(town.now + timedelta(minutes=1), tick=False):
        Revision.objects.create(
            cluster=lab.cluster, number=2, catalog=moved, digest="d", summary="s"
        )
    town.wait(hours=1)
    stopped(town, "new", "boss", hours=1)
    client.force_login(lab.alice)

    assert [row["job"] for row in rows(client)] == ["old"]


def test_a_month_without_a_loss_says_what_will_be_here(lab, client):
    client.force_login(lab.alice)

    assert "Nothing was lost" in stored.said(client.get(URL))
    assert rows(client) == []


def test_another_month_has_none_of_it(town, lab, client):
    stopped(town, "train", "boss", hours=1)
    client.force_login(lab.alice)

    assert "Nothing was lost" in stored.said(client.get(URL, {"month": "2020-01"}))


def priced(lab, policy):
    """Let a book with a policy count from before the story, with a price for committed time."""
    book = book_of(lab)
    row = prices.propose_policy(book=book, starts=OCTOBER, policy=policy, actor=lab.carol)
    prices.activate_policy(version=row, actor=lab.dave)


def reclaimed(lab):
    """A job of 8 loses 2 h 10 of work to one of cv."""
    life = run(lab.cluster, "train", "nlp-train", 8, clock("09:00"), clock("11:10"))
    at = clock("11:10")
    evict(life, "nlp-train", at, "preempted_reclaim", 130, "uid-boss", "/lab/cv-train")


def test_lost_work_has_a_worth_and_nothing_is_given_back_without_a_rule(lab, client):
    """Eight devices for 2 h 10 at 2.50: 43.33; a job of cv took the place."""
    priced(lab, Policy())
    reclaimed(lab)
    client.force_login(lab.alice)
    said = stored.said(client.get(URL, MONTH))
    (row,) = rows(client)

    assert "Worth 43.33" in said
    assert "Nothing is given back for work that is lost to a preemption." in said
    assert "Given back" not in said
    assert (row["worth"], row["given_back_s"], row["why"]) == ("43.3333333333", "0", "no_rule")


def test_what_a_policy_gives_back_stands_beside_it(lab, client):
    priced(lab, Policy(lost=LostRule(Funder.TAKER, 1800)))
    reclaimed(lab)
    client.force_login(lab.alice)
    said = stored.said(client.get(URL, MONTH))
    (row,) = rows(client)

    assert "Given back 10.00 USD for 4.00 GPU-h" in said
    assert "for 4.00 GPU-h by who took the place" in said
    assert (row["given_back"], row["given_back_by"], row["why"]) == (
        "10.0000000000",
        "taker",
        "part",
    )
    assert "cv" not in row.values()
    client.force_login(lab.bob)
    (row,) = rows(client)
    assert (row["worth"], row["given_back"], row["given_back_s"]) == ("", "", "14400")
    assert "10.00" not in stored.said(client.get(URL, MONTH))


API = "/api/v1/tenants/nlp/costs/lost/2026-11/"


def test_the_api_says_the_same_by_cause(lab, client):
    priced(lab, Policy(lost=LostRule(Funder.TAKER, 1800)))
    reclaimed(lab)
    client.force_login(lab.alice)
    found = client.get(API).json()
    client.force_login(lab.bob)
    without = client.get(API).json()
    sums = {
        "evictions": 1, "lost_resource_seconds": 8 * 7800, "given_back_resource_seconds": 8 * 1800,
        "worth": "43.33", "given_back": "10.00",
    }  # fmt: skip

    assert (found["whole"], found["causes"]) == (sums, [sums | {"cause": "preempted_reclaim"}])
    assert (found["currency"], without["currency"]) == ("USD", None)
    hidden = sums | {"worth": None, "given_back": None}
    assert without["whole"] == hidden


def test_evictions_that_are_alike_are_one_row_with_each_of_them_below(lab, client):
    """Three of one job and one of another: two rows, what lost most first."""
    for number in range(3):
        at = clock(f"{11 + number}:10")
        life = run(lab.cluster, f"train-{number}", "nlp-train", 8, clock(f"{9 + number}:10"), at)
        evict(life, "nlp-train", at, "preempted_reclaim", 30, "uid-boss", "/lab/cv-train")
    Lifetime.objects.update(job_name="train")
    other = run(lab.cluster, "tune", "nlp-train", 4, clock("09:00"), clock("11:00"))
    evict(other, "nlp-train", clock("11:00"), "preempted_reclaim", 60, "uid-boss", "/lab/cv-train")
    client.force_login(lab.alice)
    said = stored.said(client.get(URL, MONTH))

    assert "By job 2" in said
    assert said.index("train nlp-train") < said.index("tune nlp-train")
    assert "30 Nov 11:10 \u2013 30 Nov 13:10" in said
    assert "3 8 12.0" in said
    assert said.count("8 GPUs \u00b7 4.00 GPU-h") == 3
    client.force_login(lab.frank)
    said = stored.said(client.get(URL, MONTH))
    assert "By queue 1" in said
    assert "jobs of nlp-train" in said
    assert "4 4 \u2013 8 16.0" in said


def test_a_long_month_names_the_worst_and_leaves_the_rest_to_the_file(lab, client, monkeypatch):
    monkeypatch.setattr("costs.views.lost_rows.GROUPS", 12)
    for number in range(14):
        life = run(lab.cluster, f"j{number}", "nlp-train", 8, clock("09:00"), clock("11:10"))
        evict(life, "nlp-train", clock("11:10"), "preempted_reclaim", 10 + number, "u", "/lab/cv")
    client.force_login(lab.alice)
    said = stored.said(client.get(URL, MONTH))

    assert "By job 12 2 evictions more are in the file" in said
    assert "Show 2 more" in said
    assert len(rows(client)) == 14


def test_queries_do_not_grow_with_evictions(town, lab, client):
    for number in range(4):
        stopped(town, f"j{number}", "boss", minutes=30)
    assert Lifetime.objects.count() == 4
    priced(lab, Policy(lost=LostRule(Funder.TAKER)))
    client.force_login(lab.alice)
    client.get(URL, MONTH)
    with counted("costs: tenant's lost time"):
        client.get(URL, MONTH)
    with counted("api: tenant's lost time"):
        client.get(API)
