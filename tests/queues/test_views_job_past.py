"""What happened to a job, on its page: phases, lost places and their cost, every change."""

from datetime import timedelta

import pytest
from django.utils import timezone

from queues.models import Lifetime, Workload
from tests.cast import MARK
from tests.query_counts import counted
from tests.queues import pages, seen
from tests.queues.test_history import SECRET, Town

URL = "/c/lab/jobs/nlp/train-1/"
PAST = {"part": "past"}
HTMX = {"HX-Request": "true"}


@pytest.fixture
def town(lab):
    """A job that ran, lost its place to one of the vision team, and runs again."""
    town = Town(lab.cluster)
    town.lab = lab
    town.job("train-1").job("other", namespace="cv")
    town.wait(minutes=10)
    town.start("train-1")
    town.wait(hours=2)
    town.stop("train-1", by="other")
    town.wait(minutes=5)
    town.start("train-1")
    seen.streams(lab.cluster)
    life = Lifetime.objects.get(job_name="train-1")
    seen.running(lab.cluster, "train-1", uid=life.uid, name=life.name, job_uid=life.job_uid)
    return town


@pytest.fixture
def bob(town, client):
    client.force_login(town.lab.bob)
    return client


def test_tells_phases_losses_and_sums(bob):
    said = pages.words(bob.get(URL))

    assert "Waited15 min" in said
    assert "Was stopped for a job of another team:" in said
    assert "GPU-hours of work are lost, all since its start: no checkpoint is known." in said
    assert "GPU-hours lost" in said
    assert "Times stopped1" in said
    assert "was admitted for 2 h" in said


def test_tells_every_change_in_words_the_newest_first(bob):
    said = pages.words(bob.get(URL))

    assert "Was admitted" in said
    assert "Got its quota" in said
    assert "Had to give its place back" in said


def test_words_that_stand_in_several_conditions_are_read_once(bob):
    said = pages.words(bob.get(URL))

    assert said.count("Preempted to accommodate") == 1


@pytest.mark.parametrize("who", ["bob", "alice"])
def test_names_nothing_of_those_who_took_the_place(town, client, who):
    client.force_login(getattr(town.lab, who))
    for answer in (client.get(URL), client.get(URL, PAST, headers=HTMX)):
        assert SECRET not in pages.text(answer)
        assert "uid-other" not in pages.text(answer)
        assert ">other<" not in pages.text(answer)


def test_masks_names_of_others_in_the_texts_of_changes(town, bob):
    seen.workload(town.cluster, MARK, namespace="cv", queue="cv-train")
    life = Lifetime.objects.get(job_name="train-1")
    now = timezone.now()
    life.changes.create(
        type="QuotaReserved", status="False", reason="Pending", at=now, seen_at=now,
        message=f"waits behind cv/{MARK}",
    )  # fmt: skip
    answer = bob.get(URL)

    assert "waits behind" in pages.words(answer)
    pages.nothing_of_others(answer)


def test_platform_reads_who_took_the_place(town, client):
    client.force_login(town.lab.dave)

    assert "Was stopped for the job “other”:" in pages.words(client.get(URL))


def test_history_has_a_poll_of_its_own(bob):
    now, past = bob.get(URL, headers=HTMX), bob.get(URL, PAST, headers=HTMX)

    assert "What happened" not in pages.text(now)
    assert "What happened" in pages.text(past)
    assert "How far it got" not in pages.text(past)
    pages.unchanged(bob, URL)


def test_a_job_without_a_history_has_a_page(lab, client):
    seen.lab(lab.cluster)
    seen.workload(lab.cluster, "fresh")
    client.force_login(lab.bob)
    answer = client.get("/c/lab/jobs/nlp/fresh/")

    assert answer.status_code == 200
    assert "What happened" not in pages.text(answer)


# --- jobs that the cluster has forgotten -----------------------------------------------------------


@pytest.fixture
def gone(town):
    Workload.objects.all().delete()
    town.wait(hours=1)
    Lifetime.objects.filter(job_name="train-1").update(gone_at=town.now)
    return town


def test_a_job_that_is_gone_says_when_and_keeps_its_history(gone, bob):
    said = pages.words(bob.get(URL))

    assert "Was removed from the cluster on" in said
    assert "Was stopped for a job of another team:" in said


def test_a_job_that_ended_says_so(gone, bob):
    Lifetime.objects.filter(job_name="train-1").update(
        finished_at=gone.now - timedelta(minutes=5), outcome="Succeeded"
    )

    assert "and the cluster holds it no more" in pages.words(bob.get(URL))


@pytest.mark.parametrize("who", ["frank", "grace", "heidi"])
def test_a_job_that_is_gone_is_as_hidden_as_before(gone, client, who):
    client.force_login(getattr(gone.lab, who))

    assert client.get(URL).status_code == 404


def test_a_job_of_others_that_is_gone_does_not_exist(gone, bob):
    assert bob.get("/c/lab/jobs/cv/other/").status_code == 404


@pytest.mark.parametrize("number", [1, 5])
def test_queries_do_not_grow(town, bob, number):
    for _ in range(number):
        town.wait(minutes=5)
        town.stop("train-1", by="other")
        town.wait(minutes=5)
        town.start("train-1")
    with counted("queues: job"):
        bob.get(URL)
    with counted("queues: job, its past polled"):
        bob.get(URL, PAST, headers=HTMX)
