"""In which times pods had devices, and for which Workload: rows that are only added."""

from datetime import timedelta

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from queues.models import Gap, PodInterval, PodRun, Stream
from queues.services import observed_rows as rows
from tests.queues.clusterside import Side, admitted, meta, stream, workload

pytestmark = pytest.mark.django_db
GPU = "nvidia.com/gpu"
WORKLOAD = "kueue.x-k8s.io/workload"
GROUP = "kueue.x-k8s.io/pod-group-name"


@pytest.fixture
def side(lab):
    return Side(lab.cluster)


def stamp(at):
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def ago(**time):
    return timezone.now().replace(microsecond=0) - timedelta(**time)


def pod(name, devices=8, *, started=None, asked=None, phase="Running", of="", owner="", **more):
    """A pod that runs since a minute; ``of`` names its Workload, ``owner`` is its job's uid."""
    resources = {"cpu": "4"} | ({GPU: str(devices)} if devices else {}) | more.pop("resources", {})
    own = {"labels": {"kueue.x-k8s.io/managed": "true"}, **more}
    if of:
        own["annotations"] = {WORKLOAD: of}
    if owner:
        own["ownerReferences"] = [{"kind": "Job", "name": "j", "uid": owner, "controller": True}]
    if asked:
        grace = {"deletionGracePeriodSeconds": 30}
        own |= {"deletionTimestamp": stamp(asked + timedelta(seconds=30))} | grace
    state = {"running": {"startedAt": stamp(started or ago(minutes=1))}}
    return {
        "metadata": meta(name, own.pop("namespace", "nlp"), **own),
        "spec": {"nodeName": "n1", "containers": [{"resources": {"requests": resources}}]},
        "status": {"phase": phase, "containerStatuses": [{"restartCount": 0, "state": state}]},
    }  # fmt: skip


def told(side, *items, change="MODIFIED"):
    side.tell("Pod", *items, change=change)
    side.write()


def over():
    found = PodInterval.objects.order_by("uid", "starts")
    return [(x.name, x.kind, x.starts, x.ends, x.ended_by) for x in found]


def test_a_pod_on_devices_is_noted_once_with_what_it_has(side, django_assert_num_queries):
    started = ago(minutes=9)
    side.listed(Pod=[pod("a", started=started, of="job-a")])
    row = PodRun.objects.get()
    assert (row.namespace, row.name, row.node, row.resource, row.amount) == (
        "nlp", "a", "n1", GPU, 8,
    )  # fmt: skip
    assert (row.kind, row.starts, row.starts_quality) == ("running", started, "exact")
    assert (row.workload, row.workload_uid) == ("job-a", "")
    side.tell("Pod", pod("a", started=started, resourceVersion="8"), change="MODIFIED")
    with django_assert_num_queries(0):
        assert side.window.pods.write(timezone.now()) == 0


@pytest.mark.parametrize("item", [pod("a", 0), pod("a", phase="Pending"), pod("a", phase="Failed")])
def test_a_pod_without_devices_writes_nothing(side, django_assert_num_queries, item):
    side.listed(Pod=[])
    side.tell("Pod", item)
    with django_assert_num_queries(0):
        side.window.pods.write(timezone.now())
    side.write()
    assert not PodRun.objects.exists()


def test_each_kind_of_device_has_a_row(side):
    side.listed(Pod=[pod("a", resources={"nvidia.com/mig-1g.10gb": "2"})])
    found = PodRun.objects.order_by("resource").values_list("resource", "amount")
    assert list(found) == [(GPU, 8), ("nvidia.com/mig-1g.10gb", 2)]
    told(side, pod("a"), change="DELETED")
    assert (PodRun.objects.count(), PodInterval.objects.count()) == (0, 2)


def test_a_deletion_makes_two_times(side):
    started, asked = ago(minutes=9), ago(minutes=2)
    side.listed(Pod=[pod("a", started=started)])
    told(side, pod("a", started=started, asked=asked))
    assert PodRun.objects.get().kind == "terminating"
    told(side, pod("a", started=started, asked=asked), change="DELETED")
    first, second = over()
    assert first == ("a", "running", started, asked, "terminating")
    assert second[:3] == ("a", "terminating", asked)
    row = PodInterval.objects.get(kind="terminating")
    assert (row.ends_quality, row.ends_latest - row.ends_earliest) == ("seen", timedelta(seconds=2))
    assert not PodRun.objects.exists()


def test_a_pod_that_came_and_went_within_a_window_is_kept(side):
    side.listed(Pod=[])
    started = ago(seconds=30)
    for change in ("ADDED", "DELETED"):
        side.tell("Pod", pod("a", started=started), change=change)
    side.write()
    assert [row[:3] for row in over()] == [("a", "running", started)]


def test_a_restart_notes_nothing_that_stands_there(side, lab):
    items = [pod("a", of="job-a"), pod("b", asked=ago(seconds=9))]
    side.listed(Pod=items)
    before = list(PodRun.objects.values()), list(PodInterval.objects.values())
    again = Side(lab.cluster)
    again.listed(Pod=items)
    assert (list(PodRun.objects.values()), list(PodInterval.objects.values())) == before
    again.listed(Pod=items)
    assert len(over()) == 1


def test_what_vanished_in_a_gap_ended_between_two_looks(side, lab):
    started = ago(hours=1)
    side.listed(Pod=[pod("a", started=started), pod("stays", started=started)])
    alive = stream(lab.cluster, "Pod").alive_at - timedelta(minutes=10)
    Stream.objects.update(alive_at=alive)
    stays = PodRun.objects.filter(name="stays").values().get()
    Side(lab.cluster).listed(Pod=[pod("stays", started=started)])

    row = PodInterval.objects.get()
    assert (row.name, row.ended_by, row.ends_quality) == ("a", "vanished", "bounded")
    assert row.ends_earliest == alive.replace(microsecond=0)
    assert row.ends_earliest < row.ends < row.ends_latest
    gap = Gap.objects.get(kind="Pod")
    assert (gap.starts, gap.healed) == (alive, "listed")
    assert PodRun.objects.values().get() == stays


def test_what_began_and_was_asked_to_end_in_a_gap_has_its_exact_times(side, lab):
    side.listed(Pod=[])
    Stream.objects.update(alive_at=timezone.now() - timedelta(minutes=10))
    started, asked = ago(minutes=8), ago(minutes=3)
    Side(lab.cluster).listed(Pod=[pod("a", started=started, asked=asked)])
    assert over() == [("a", "running", started, asked, "terminating")]
    assert (PodRun.objects.get().starts, PodRun.objects.get().starts_quality) == (asked, "exact")


def test_news_that_is_on_record_adds_nothing(side, lab):
    """Another observer has noted the end already; this one hears of it with a lost lease."""
    item = pod("a", started=ago(minutes=9))
    side.listed(Pod=[item])
    told(Side(lab.cluster), item, change="DELETED")
    before = over()
    told(side, item, change="DELETED")
    assert (over(), PodRun.objects.count()) == (before, 0)


def test_what_could_not_be_written_is_written_later(side, monkeypatch):
    side.listed(Pod=[])
    side.tell("Pod", pod("a"))
    with monkeypatch.context() as patch:
        patch.setattr(side.window, "_write_events", lambda: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            side.write()
    assert not PodRun.objects.exists()
    side.memory.load()
    side.write()
    assert PodRun.objects.get().name == "a"


# --- whose it is --------------------------------------------------------------------------------


def test_its_annotation_names_its_workload(side):
    side.listed(Workload=[workload("job-a", **admitted())], Pod=[pod("a", of="job-a")])
    row = PodRun.objects.get()
    assert (row.workload, row.workload_uid) == ("job-a", "uid-nlp-job-a")


def test_its_group_is_its_workload(side):
    item = pod("a", labels={GROUP: "team"})
    side.listed(Workload=[workload("team", **admitted())], Pod=[item])
    assert PodRun.objects.get().workload_uid == "uid-nlp-team"


def test_its_job_leads_to_its_workload(side):
    side.listed(Workload=[workload("a", **admitted())], Pod=[pod("a", owner="job-a")])
    row = PodRun.objects.get()
    assert (row.workload, row.workload_uid) == ("a", "uid-nlp-a")


def test_a_workload_that_comes_after_its_pod_is_named_then(side):
    side.listed(Pod=[pod("a", owner="job-a"), pod("b", owner="nobody"), pod("c", of="a")])
    assert set(PodRun.objects.values_list("workload_uid", flat=True)) == {""}
    side.listed(Workload=[workload("a", **admitted())])
    found = PodRun.objects.order_by("name").values_list("name", "workload", "workload_uid")
    assert list(found) == [("a", "a", "uid-nlp-a"), ("b", "", ""), ("c", "a", "uid-nlp-a")]
    told(side, pod("a"), change="DELETED")
    assert PodInterval.objects.get().workload_uid == "uid-nlp-a"


def test_a_pod_that_nobody_looks_after_has_none(side):
    side.listed(Workload=[workload("a", **admitted())], Pod=[pod("a", labels={})])
    assert PodRun.objects.get().workload == ""


# --- rows ---------------------------------------------------------------------------------------


def test_the_history_begins_with_the_first_whole_list(side, lab):
    side.begin("Pod")
    side.tell("Pod", pod("a"))
    side.write()
    assert stream(lab.cluster, "Pod").history_since is None
    before = timezone.now()
    side.listed(Pod=[pod("a")])
    since = stream(lab.cluster, "Pod").history_since
    assert before <= since <= timezone.now()
    Side(lab.cluster).listed(Pod=[])
    assert stream(lab.cluster, "Pod").history_since == since


def test_rows_of_times_that_are_over_are_only_added(side):
    side.listed(Pod=[pod("a")])
    told(side, pod("a"), change="DELETED")
    for change in (lambda: PodInterval.objects.update(name="x"),
                   lambda: PodInterval.objects.all()._raw_delete("default")):  # fmt: skip
        with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic():
            change()


def test_any_number_of_pods_takes_the_same_few_statements(side, django_assert_num_queries):
    side.listed(Pod=[])
    rows.alive(side.cluster, ["Pod"])
    for count in (1, 50):
        side.tell("Pod", *(pod(f"p{count}-{n}", of="w") for n in range(count)))
        with transaction.atomic(), django_assert_num_queries(6):
            assert side.window.pods.write(timezone.now()) == count
        side.window.pods.committed()


def test_an_odd_pod_does_not_stop_the_others(side):
    odd = pod("odd", of="re\0search")
    odd["metadata"]["deletionTimestamp"] = "soon"
    odd["status"]["containerStatuses"] = [None, 7, {"state": {"running": {"startedAt": []}}}]
    side.listed(Pod=[odd, pod("a")])
    assert set(PodRun.objects.values_list("name", "kind", "workload")) >= {("a", "running", "")}
    assert PodRun.objects.count() == 2
