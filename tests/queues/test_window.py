"""What an observer writes: one window after another, from what it has heard."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from queues.models import ObservedEvent, ObservedObject, UnknownText, Workload
from queues.services import intervals
from tests.queues.clusterside import (
    Side,
    admitted,
    condition,
    entry,
    meta,
    queue,
    short,
    stream,
    workload,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def side(lab):
    found = Side(lab.cluster)
    found.listed(ClusterQueue=[queue()], LocalQueue=[entry()])
    return found


@pytest.fixture
def noted(monkeypatch):
    """Everything that the history was told, a list of changes for each window."""
    found = []
    monkeypatch.setattr(
        intervals, "note", lambda _cluster, changes, _now, *, since=None: found.append(
            ([(each.uid, each.gone, bool(each.workload)) for each in changes], since)
        )
    )  # fmt: skip
    return found


def names():
    return sorted(Workload.objects.values_list("name", flat=True))


def code(name="a"):
    return Workload.objects.get(name=name).code


# --- rows follow ------------------------------------------------------------------------------


def test_writes_a_workload_with_its_reason(side):
    side.listed(Workload=[workload("a", conditions=[short()])])
    row = Workload.objects.get()
    assert (row.code, row.queue, row.devices) == ("quota_short", "nlp-train", 8)
    assert row.job_uid == "job-a"


def test_a_second_look_writes_nothing(side):
    items = [workload(each, conditions=[short()]) for each in "abc"]
    side.listed(Workload=items)
    side.tell("Workload", *items, change="MODIFIED")
    side.list("Workload", *items)
    assert side.write().rows == 0


def test_a_second_observer_writes_nothing_that_stands_there(side, lab):
    items = {"ClusterQueue": [queue()], "LocalQueue": [entry()], "Workload": [workload("a")]}
    side.listed(**items)
    assert Side(lab.cluster).listed(**items).rows == 0


def test_only_a_version_is_no_change(side):
    side.listed(Workload=[workload("a", conditions=[short()])])
    again = workload("a", conditions=[short()], metadata={"resourceVersion": "8"})
    side.tell("Workload", again, change="MODIFIED")
    assert side.write().rows == 0


def test_says_which_queues_a_workload_came_to_and_left(side):
    side.list("LocalQueue", entry(), entry("other", queue="cv-train"))
    assert side.listed(Workload=[workload("a")]).moved == {"nlp-train"}
    side.tell("Workload", workload("a", entry="other"), change="MODIFIED")
    assert side.write().moved == {"nlp-train", "cv-train"}
    side.tell("Workload", workload("a", entry="other"), change="DELETED")
    assert side.write().moved == {"cv-train"}


def test_a_text_alone_moves_nobody_in_a_queue(side):
    side.list("ClusterQueue", queue())
    side.list("LocalQueue", entry())
    side.listed(Workload=[workload("a", conditions=[short()])])
    side.tell("Workload", workload("a", conditions=[short(9)]), change="MODIFIED")
    done = side.write()
    assert (done.rows, done.moved) == (1, set())
    side.tell("Workload", workload("a", conditions=[]), change="MODIFIED")
    assert side.write().moved == {"nlp-train"}


# --- nothing gone stays, nothing alive goes ------------------------------------------------------


def test_a_fresh_list_removes_what_it_does_not_hold(side):
    side.listed(Workload=[workload("a"), workload("b")])
    side.listed(Workload=[workload("b")])
    assert names() == ["b"]


def test_a_deletion_while_nobody_listened_is_found_by_the_next_observer(side, lab):
    side.listed(Workload=[workload("a"), workload("b")])
    Side(lab.cluster).listed(Workload=[workload("b")])
    assert names() == ["b"]


def test_a_list_that_breaks_off_removes_nothing(side):
    side.listed(Workload=[workload("a"), workload("b")])
    side.begin("Workload")
    side.tell("Workload", workload("b"))
    side.write()
    assert names() == ["a", "b"]
    side.list("Workload", workload("a"))
    side.write()
    assert names() == ["a"]


def test_what_comes_while_a_list_is_read_stays(side):
    side.begin("Workload")
    side.tell("Workload", workload("a"))
    side.write()
    side.tell("Workload", workload("new"))
    side.memory.end(side_kind("Workload"), "9")
    side.write()
    assert names() == ["a", "new"]


def side_kind(name):
    from tests.queues.clusterside import KIND

    return KIND[name]


def test_a_name_that_comes_back_is_another_workload(side):
    side.listed(Workload=[workload("a")])
    side.tell("Workload", workload("a"), change="DELETED")
    side.tell("Workload", workload("a", metadata={"uid": "second"}))
    side.write()
    assert list(Workload.objects.values_list("uid", flat=True)) == ["second"]


def test_rows_of_another_cluster_stay(side, lab):
    other = type(lab.cluster).objects.create(slug="other", display_name="Other")
    Side(other).listed(Workload=[workload("a")])
    side.listed(Workload=[workload("b")])
    assert names() == ["a", "b"]


def test_a_kind_that_is_no_longer_served_leaves_no_rows(side, lab):
    from queues.services import observed_rows

    side.listed(Topology=[{"metadata": meta("racks"), "spec": {}}])
    observed_rows.unserved(lab.cluster, "Topology")
    side.memory.unserved("Topology")
    side.write()
    assert not ObservedObject.objects.filter(kind="Topology").exists()
    side.listed(Topology=[{"metadata": meta("racks"), "spec": {}}])
    assert ObservedObject.objects.filter(kind="Topology").count() == 1


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ADDED", "MODIFIED", "DELETED", "LIST", "BROKEN", "WRITE", "NEW"]),
            st.sets(st.sampled_from("abcd"), min_size=1),
        ),
        max_size=12,
    )
)
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_after_a_list_the_rows_are_what_the_cluster_holds(side_made, steps):
    """Whatever came before: changes, lists that broke off, another observer."""
    Workload.objects.all().delete()
    side, cluster = side_made(), set()
    for what, some in steps:
        items = [workload(each) for each in sorted(some)]
        if what == "WRITE":
            side.write()
        elif what == "NEW":
            side = side_made()
        elif what == "BROKEN":
            side.begin("Workload")
            side.tell("Workload", *[workload(each) for each in sorted(cluster & some)])
        elif what == "LIST":
            side.list("Workload", *[workload(each) for each in sorted(cluster)])
        else:
            cluster = cluster - some if what == "DELETED" else cluster | some
            side.tell("Workload", *items, change=what)
    here = [workload(each) for each in sorted(cluster)]
    side.listed(Workload=here)
    assert names() == sorted(cluster)
    assert side_made().listed(Workload=here).rows == 0


@pytest.fixture
def side_made(lab):
    return lambda: Side(lab.cluster)


# --- read again when something around moves -------------------------------------------------------


def test_a_queue_that_stops_explains_its_workloads_anew(side):
    side.listed(Workload=[workload("a", conditions=[short()])])
    side.tell("ClusterQueue", queue(active=False, stopPolicy="Hold"), change="MODIFIED")
    side.write()
    assert code() == "queue_stopped"


def test_a_counter_of_a_queue_moves_no_workload(side, monkeypatch):
    side.listed(Workload=[workload("a", conditions=[short()])])
    side.write()
    more = queue()
    more["status"]["pendingWorkloads"] = 7
    side.tell("ClusterQueue", more, change="MODIFIED")
    side.write()
    assert not side.memory.again
    assert ObservedObject.objects.get(kind="ClusterQueue").body["status"]["pendingWorkloads"] == 7


def test_an_entry_that_comes_is_told_to_a_job_that_named_none(side):
    text = "LocalQueue nlp-gpu doesn't exist"
    lost = workload("a", entry="nlp-gpu", conditions=[
        condition("QuotaReserved", "False", "Inadmissible", text)
    ])  # fmt: skip
    side.listed(Workload=[lost])
    assert Workload.objects.get().params["entries"] == "main"
    side.tell("LocalQueue", entry("gpu"))
    side.write()
    assert Workload.objects.get().params["entries"] == "gpu, main"
    side.tell("LocalQueue", entry("x", "elsewhere"))
    side.memory.spread()
    assert not side.memory.again


def test_many_workloads_of_one_queue_are_read_again_in_parts(side):
    side.listed(Workload=[workload(f"w{number}", conditions=[short()]) for number in range(7)])
    side.tell("ClusterQueue", queue(active=False, stopPolicy="Hold"), change="MODIFIED")
    side.window.write(again=5)
    assert Workload.objects.filter(code="queue_stopped").count() == 5
    side.window.write(again=5)
    assert Workload.objects.filter(code="queue_stopped").count() == 7


# --- the history is told everything ----------------------------------------------------------------


def test_the_history_hears_every_change_of_a_window_in_order(side, noted):
    side.tell("Workload", workload("a"))
    side.tell("Workload", workload("a", **admitted()), change="MODIFIED")
    side.tell("Workload", workload("a", **admitted()), change="DELETED")
    side.write()
    ((heard, since),) = noted
    assert heard == [("uid-nlp-a", False, True)] * 2 + [("uid-nlp-a", True, True)]
    assert since is None


def test_a_list_tells_the_history_only_what_is_new(side, noted):
    side.listed(Workload=[workload("a"), workload("b")])
    noted.clear()
    side.listed(Workload=[workload("a"), workload("c")])
    ((heard, _),) = noted
    assert sorted(heard) == [("uid-nlp-b", True, False), ("uid-nlp-c", False, True)]


def test_a_restart_says_since_when_nobody_listened(side, lab, noted):
    items = [workload(each, conditions=[short()]) for each in "ab"]
    side.listed(Workload=items)
    noted.clear()
    second = Side(lab.cluster)
    second.listed(ClusterQueue=[queue()], LocalQueue=[entry()], Workload=items[1:])
    ((heard, since),) = noted
    assert heard == [("uid-nlp-a", True, False)]
    assert since == stream_alive_before(lab, since)


def stream_alive_before(lab, since):
    assert since <= stream(lab.cluster, "Workload").alive_at
    return since


# --- what Kueue forgets ----------------------------------------------------------------------------


def check(state, message, name="budget"):
    return {"name": name, "state": state, "message": message}


def test_what_a_check_said_is_kept_when_kueue_overwrites_it(side, lab):
    said = workload("a", admissionChecks=[check("Rejected", "budget exceeded")])
    reset = "Reset to Pending after eviction. Previously: Rejected"
    after = workload("a", admissionChecks=[check("Pending", reset)])
    side.tell("Workload", said)
    side.tell("Workload", after, change="MODIFIED")
    side.write()
    assert Workload.objects.get().kept == {"budget": "budget exceeded"}
    again = Side(lab.cluster)
    again.listed(Workload=[after])
    assert Workload.objects.get().kept == {"budget": "budget exceeded"}


def event(reason, message="", about="uid-nlp-a", uid="e1", **more):
    involved = {"kind": "Workload", "namespace": "nlp", "name": "a", "uid": about}
    return {
        "metadata": meta("e", "nlp", uid=uid), "involvedObject": involved, "reason": reason,
        "message": message, "type": "Warning", "eventTime": "2026-11-29T12:00:01.5Z", **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        "Deactivating workload because AdmissionCheck for budget was Rejected: too dear",
        'Deactivated due to AdmissionCheck in Rejected state: "budget" (too dear)',
    ],
)
def test_a_check_that_only_an_event_tells_of_is_kept(side, message):
    side.listed(Workload=[workload("a")])
    side.tell("Event", event("AdmissionCheckRejected", message))
    side.write()
    assert Workload.objects.get().kept == {"budget": "too dear"}


def test_a_check_that_an_event_told_of_before_its_workload_came(side):
    """Events are listed before the workloads that they are about."""
    said = "AdmissionCheck for budget was Rejected: too dear"
    side.tell("Event", event("AdmissionCheckRejected", said))
    side.write()
    side.listed(Workload=[workload("a")])
    assert Workload.objects.get().kept == {"budget": "too dear"}


def test_a_restart_among_pods_and_events_writes_nothing(side, lab):
    """What is around a workload is read before it, so its first reading is the whole one."""
    held = workload("a", **admitted())
    told = event("AdmissionCheckRejected", "AdmissionCheck for budget was Rejected: too dear")
    lists = {"Pod": [], "Event": [told], "Workload": [held, workload("b")]}
    side.listed(**lists)
    again = Side(lab.cluster)
    done = again.listed(ClusterQueue=[queue()], LocalQueue=[entry()], **lists)
    assert done.rows == 0


def test_an_event_stays_when_the_cluster_forgets_it(side):
    side.listed(Workload=[workload("a")])
    side.tell("Event", event("Preempted", "made room"))
    side.write()
    side.tell("Event", event("Preempted", "made room"), change="DELETED")
    side.listed(Event=[])
    row = ObservedEvent.objects.get()
    assert (row.object_uid, row.reason, row.warning) == ("uid-nlp-a", "Preempted", True)


def test_an_event_that_repeats_is_one_row(side):
    side.tell("Event", event("Preempted"))
    side.write()
    again = {"count": 3, "lastObservedTime": "2026-11-29T12:05:00Z"}
    side.tell("Event", event("Preempted", series=again), change="MODIFIED")
    side.write()
    row = ObservedEvent.objects.get()
    assert (row.times, row.last_at.minute) == (3, 5)


def test_texts_that_no_rule_knows_are_counted_by_their_form(side):
    odd = [
        workload(name, conditions=[condition("QuotaReserved", "False", "Pending", text)])
        for name, text in {"a": "the moon is 3 days old", "b": "the moon is 4 days old"}.items()
    ]
    side.listed(Workload=odd)
    side.listed(Workload=odd)
    row = UnknownText.objects.get()
    assert (row.form, row.times) == ("the moon is # days old", 2)
    assert row.example.startswith("the moon is")


# --- what cannot be read, and a cluster that went back ----------------------------------------------


@pytest.mark.parametrize(
    "spec", [{"podSets": "none"}, {"podSets": [3]}, {"queueName": 7}, {"priority": "high"}]
)
def test_an_odd_workload_stops_nothing(side, spec):
    side.tell("Workload", workload("odd", spec=spec), workload("fine"))
    side.write()
    assert "fine" in names()
    side.tell("Workload", workload("odd", spec=spec), change="DELETED")
    side.write()
    assert names() == ["fine"]


def test_versions_that_go_back_mean_a_restored_cluster(side, lab):
    side.list("Workload", version="100")
    side.write()
    assert stream(lab.cluster, "Workload").went_back_at is None
    side.list("Workload", version="99")
    side.write()
    assert stream(lab.cluster, "Workload").went_back_at is not None
