"""Generations rise with every write, whoever writes, and only for what was touched."""

import pytest
from django.db import transaction

from queues.models import Generation, ObservedObject, Workload
from tests.queues import seen


@pytest.fixture
def numbers(lab):
    """Give the numbers as (kind, name) -> number, and what differs from the last call."""

    class Numbers:
        known: dict[tuple[str, str], int] = {}

        def read(self):
            rows = Generation.objects.filter(cluster=lab.cluster)
            return {(kind, name): n for kind, name, n in rows.values_list("kind", "name", "number")}

        def moved(self):
            before, self.known = self.known, self.read()
            assert all(self.known[key] >= number for key, number in before.items())
            return {key for key, number in self.known.items() if before.get(key) != number}

    return Numbers()


def test_a_new_job_moves_its_queue_and_its_namespace(lab, numbers):
    seen.workload(lab.cluster, "train-1")

    assert numbers.moved() == {("queue", "nlp-train"), ("namespace", "nlp")}


def test_a_change_moves_what_it_was_and_what_it_becomes(lab, numbers):
    seen.workload(lab.cluster, "train-1")
    seen.workload(lab.cluster, "other", namespace="cv", queue="cv-train")
    numbers.moved()

    Workload.objects.filter(job_name="train-1").update(queue="nlp-eval")

    assert numbers.moved() == {
        ("queue", "nlp-train"), ("queue", "nlp-eval"), ("namespace", "nlp"),
    }  # fmt: skip


def test_a_deletion_moves(lab, numbers):
    seen.workload(lab.cluster, "train-1")
    seen.workload(lab.cluster, "other", namespace="cv", queue="cv-train")
    numbers.moved()

    Workload.objects.filter(namespace="nlp").delete()

    assert numbers.moved() == {("queue", "nlp-train"), ("namespace", "nlp")}


def test_an_upsert_moves_what_it_adds_and_what_it_changes(lab, numbers):
    row = seen.workload(lab.cluster, "train-1")
    numbers.moved()
    row.position, row.pk = 5, None
    fresh = Workload(
        cluster=lab.cluster, uid="new", namespace="cv", name="new", queue="cv-train",
        state="waiting", created_at=row.created_at, observed_at=row.observed_at,
    )  # fmt: skip

    Workload.objects.bulk_create(
        [row, fresh], update_conflicts=True, unique_fields=["cluster", "uid"],
        update_fields=["position"],
    )  # fmt: skip

    assert Workload.objects.count() == 2
    assert numbers.moved() == {
        ("queue", "nlp-train"), ("namespace", "nlp"), ("queue", "cv-train"), ("namespace", "cv"),
    }  # fmt: skip


def test_each_statement_moves_once_more(lab, numbers):
    for _ in range(3):
        seen.workload(lab.cluster, f"train-{_}")
        assert ("queue", "nlp-train") in numbers.moved()


def test_objects_move_by_kind(lab, numbers):
    row = seen.node(lab.cluster, "gpu-0")
    assert numbers.moved() == {("objects", "Node")}

    seen.observed(lab.cluster, "Cohort", "research", {})
    assert numbers.moved() == {("objects", "Cohort")}

    ObservedObject.objects.filter(pk=row.pk).delete()
    assert numbers.moved() == {("objects", "Node")}


def test_objects_of_one_kind_may_come_and_go_in_one_statement(lab, numbers):
    for name in ("gpu-1", "gpu-2"):
        seen.node(lab.cluster, name)
    rows = list(ObservedObject.objects.all())
    numbers.moved()

    ObservedObject.objects.all().delete()
    assert numbers.moved() == {("objects", "Node")}

    ObservedObject.objects.bulk_create(rows)
    assert numbers.moved() == {("objects", "Node")}


def test_clusters_do_not_move_each_other(lab, numbers):
    other = type(lab.cluster).objects.create(slug="other", display_name="Other")
    seen.workload(other, "train-1")

    assert numbers.moved() == set()


def test_what_is_taken_back_has_not_moved(lab, numbers):
    with transaction.atomic():
        seen.workload(lab.cluster, "train-1")
        transaction.set_rollback(True)

    assert numbers.moved() == set()


def test_nothing_touched_moves_nothing(lab, numbers):
    Workload.objects.filter(uid="none").update(position=1)

    assert numbers.moved() == set()
