"""What jobs lost with their places: since the checkpoint, by cause, and without other names."""

import csv
import io
from datetime import timedelta

import pytest
import time_machine

from costs.lost import LostCredit, Payer, payer
from kube.evictions import Cause
from queues.models import Eviction, Lifetime
from tenants.models import Revision
from tests.costs import stored
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
    assert f"Lost {devices * 13 / 6:.1f} GPU-h since the last known checkpoint" in said


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
    assert "Lost 2.7" in stored.said(client.get(URL, MONTH))
    assert "last checkpoint" in stored.said(client.get(URL, MONTH))


def test_who_took_the_place_has_a_name_only_if_it_is_an_own_job(town, lab, client):
    town.job("theirs", namespace="cv")
    town.job("urgent")
    stopped(town, "first", "theirs", hours=1)
    stopped(town, "second", "urgent", hours=1)
    client.force_login(lab.alice)
    page = client.get(URL, MONTH)

    assert "a job of another team" in stored.said(page)
    assert "the job urgent" in stored.said(page)
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


@pytest.mark.parametrize(
    ("cause", "borrowers", "who"),
    [
        (Cause.PREEMPTED_IN_QUEUE, False, Payer.TENANT),
        (Cause.PREEMPTED_RECLAIM, False, Payer.TENANT),
        (Cause.PREEMPTED_RECLAIM, True, Payer.TAKER),
        (Cause.PREEMPTED_FAIR_SHARING, True, Payer.TAKER),
        (Cause.NODE_FAILURE, False, Payer.PLATFORM),
        (Cause.QUEUE_STOPPED, False, Payer.PLATFORM),
        (Cause.PODS_READY_TIMEOUT, False, Payer.TENANT),
        (Cause.CHECK, True, Payer.TENANT),
        (Cause.PREEMPTED, False, Payer.UNKNOWN),
        (Cause.UNKNOWN, False, Payer.UNKNOWN),
    ],
)
def test_who_bears_a_loss(cause, borrowers, who):
    assert payer(cause, LostCredit(borrowers=borrowers)) is who


def test_every_cause_that_the_history_knows_has_its_bearer():
    """Those that say nothing of whose doing it was stay unknown, on purpose."""
    unknown = {each for each in Cause if payer(each, LostCredit()) is Payer.UNKNOWN}

    assert unknown == {Cause.PREEMPTED, Cause.OTHER, Cause.UNKNOWN}


def test_queries_do_not_grow_with_evictions(town, lab, client):
    for number in range(4):
        stopped(town, f"j{number}", "boss", minutes=30)
    assert Lifetime.objects.count() == 4
    client.force_login(lab.alice)
    client.get(URL, MONTH)
    with counted("costs: tenant's lost time"):
        client.get(URL, MONTH)
