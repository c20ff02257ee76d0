"""Rows of the observer: equal ones are not written, lost ones go, positions follow."""

import pytest

from queues.models import ObservedObject, Stream, Workload
from queues.services import observed, observed_rows
from tests.queues.test_observed import workload

pytestmark = pytest.mark.django_db
KEY = ("ClusterQueue", "", "nlp-train")


def write(written, **more):
    nothing = {"objects": {}, "gone": [], "workloads": {}, "gone_workloads": []}
    return written.write(**(nothing | more))


def queue_row(version="1", in_sync=True):
    return {KEY: ("uid-q", version, {"spec": {"version": version}}, in_sync)}


def job_row(name="job-a"):
    return {f"uid-{name}": observed.workload_row(workload(name), None, None)}


def test_writes_a_row_once_and_not_again(lab):
    written = observed_rows.Written(lab.cluster)
    assert write(written, objects=queue_row(), workloads=job_row()) == 2
    assert write(written, objects=queue_row(), workloads=job_row()) == 0


def test_a_second_observer_writes_nothing_that_stands_there(lab):
    write(observed_rows.Written(lab.cluster), objects=queue_row(), workloads=job_row())
    second = observed_rows.Written(lab.cluster)
    second.load()
    assert write(second, objects=queue_row(), workloads=job_row()) == 0


def test_keeps_since_when_an_object_is_in_sync(lab):
    written = observed_rows.Written(lab.cluster)
    write(written, objects=queue_row("1"))
    since = ObservedObject.objects.get(name="nlp-train").sync_since
    write(written, objects=queue_row("2"))
    row = ObservedObject.objects.get(name="nlp-train")
    assert (row.resource_version, row.sync_since) == ("2", since)


def test_starts_a_new_time_when_an_object_drifts(lab):
    written = observed_rows.Written(lab.cluster)
    write(written, objects=queue_row("1", in_sync=True))
    since = ObservedObject.objects.get(name="nlp-train").sync_since
    write(written, objects=queue_row("2", in_sync=False))
    assert ObservedObject.objects.get(name="nlp-train").sync_since > since


def test_deletes_what_is_gone_and_only_that(lab):
    written = observed_rows.Written(lab.cluster)
    write(written, objects=queue_row(), workloads=job_row("job-a") | job_row("job-b"))
    write(written, gone=[KEY, ("Cohort", "", "never-seen")], gone_workloads=["uid-job-a", "x"])
    assert not ObservedObject.objects.exists()
    assert list(Workload.objects.values_list("uid", flat=True)) == ["uid-job-b"]


def test_the_queues_are_named_that_a_workload_came_to_or_left(lab):
    written = observed_rows.Written(lab.cluster)
    ((uid, row),) = job_row("job-a").items()
    write(written, workloads={uid: row | {"queue": "nlp-train"}})
    assert written.take_touched() == {"nlp-train"}
    assert written.take_touched() == set()
    write(written, workloads={uid: row | {"queue": "cv-train"}})
    assert written.take_touched() == {"nlp-train", "cv-train"}
    write(written, gone_workloads=[uid])
    assert written.take_touched() == {"cv-train"}


def test_the_first_loss_keeps_its_time_until_the_line_is_back(lab):
    observed_rows.listed(lab.cluster, "Workload", "5")
    observed_rows.lost(lab.cluster, "Workload", "refused")
    first = Stream.objects.get(kind="Workload").lost_since
    observed_rows.lost(lab.cluster, "Workload", "still refused")
    row = Stream.objects.get(kind="Workload")
    assert (row.lost_since, row.error) == (first, "still refused")
    observed_rows.alive(lab.cluster, ["Workload"])
    row = Stream.objects.get(kind="Workload")
    assert (row.lost_since, row.error) == (None, "")


def test_rows_of_kinds_that_are_no_longer_watched_go(lab):
    written = observed_rows.Written(lab.cluster)
    write(written, objects={("Widget", "", "w"): ("u", "1", {}, None)} | queue_row())
    observed_rows.forget_unknown_kinds(lab.cluster)
    assert list(ObservedObject.objects.values_list("kind", flat=True)) == ["ClusterQueue"]
