"""The order in SQL is the order of kube.queue_order, whatever the rows."""

from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kube.queue_order import Strategy, Ticket, in_order, places, preemptor
from kube.queue_settings import QueueSettings
from queues.models import ObservedObject, QueueOrder, Workload
from queues.services import placing
from queues.services.placing import own_order, place, read, uids_of

pytestmark = pytest.mark.django_db

NOW = timezone.now().replace(microsecond=0)
SPACES, ENTRIES = ("a", "b"), ("same", "other")
KUEUE = QueueSettings()

WORKLOADS = st.lists(
    st.fixed_dictionaries(
        {
            # Letters and digits in both cases: the database must not sort them by language.
            "uid": st.text("abAB-012", min_size=1, max_size=4),
            "namespace": st.sampled_from(SPACES),
            "entry": st.sampled_from(ENTRIES),
            "queue": st.sampled_from(["q", "r"]),
            "priority": st.integers(-2, 2),
            "boost": st.integers(-1, 1),
            "age": st.integers(0, 2),
            "turn": st.sampled_from(["", "ready", "tried", "back_off", "makes_room"]),
            "position": st.none() | st.integers(1, 9),
        }
    ),
    max_size=9,
    unique_by=lambda each: each["uid"],
)
USE = st.none() | st.fixed_dictionaries(
    {(space, entry): st.sampled_from(["0", "3", "7"]) for space in SPACES for entry in ENTRIES}
)


def make(cluster, workloads, use, strategy=Strategy.BEST_EFFORT):
    for model in (Workload, ObservedObject, QueueOrder):
        model.objects.filter(cluster=cluster).delete()
    for queue in ("q", "r"):
        spec = {"queueingStrategy": strategy}
        if use is not None and queue == "q":
            spec["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
        observed(cluster, "ClusterQueue", "", queue, {"spec": spec})
    for (space, entry), used in (use or {}).items():
        status = {"admissionFairSharingStatus": {"consumedResources": {"cpu": used}}}
        body = {"spec": {"clusterQueue": "q"}, "status": {"fairSharing": status}}
        observed(cluster, "LocalQueue", space, entry, body)
    Workload.objects.bulk_create(
        Workload(
            cluster=cluster, uid=each["uid"], namespace=each["namespace"], name=each["uid"],
            entry=each["entry"], queue=each["queue"], priority=each["priority"],
            boost=each["boost"], turn=each["turn"], position=each["position"],
            state="waiting" if each["turn"] else "running", observed_at=NOW,
            queued_at=NOW - timedelta(seconds=each["age"]), created_at=NOW, resource_version="1",
        )
        for each in workloads
    )  # fmt: skip


def observed(cluster, kind, namespace, name, body):
    ObservedObject.objects.create(
        cluster=cluster, kind=kind, namespace=namespace, name=name, body=body, uid=name,
        resource_version="1", observed_at=NOW,
    )  # fmt: skip


def tickets(workloads, queue):
    return [
        Ticket(
            each["uid"], (each["namespace"], each["entry"]), each["priority"] + each["boost"],
            NOW - timedelta(seconds=each["age"]), each["turn"] == "makes_room",
        )
        for each in workloads
        if each["queue"] == queue and each["turn"]
    ]  # fmt: skip


def numbered(cluster, queue):
    rows = Workload.objects.filter(cluster=cluster, queue=queue).exclude(position=None)
    return sorted(rows.values_list("position", "entry_position", "uid"))


def expected(workloads, queue, use):
    weights = None if use is None else {key: float(value) for key, value in use.items()}
    own = tickets(workloads, queue)
    front = preemptor(own, Strategy.BEST_EFFORT)
    return in_order(own, front=front, use=weights if queue == "q" else None)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25
)
@given(WORKLOADS, USE, st.data())
def test_numbers_are_those_of_the_plain_function(lab, workloads, use, data):
    make(lab.cluster, workloads, use)
    lines = read(lab.cluster, ["q", "r"], KUEUE)
    placed = place(lab.cluster, lines, NOW)
    for queue, line in lines.items():
        order = expected(workloads, queue, use)
        found = [(each.position, each.entry_position, each.uid) for each in places(order)]
        assert numbered(lab.cluster, queue) == found
        assert line.order.pending == len(order)
        assert [each.uid for each in own_order(line, 99).values()] == [each.uid for each in order]
        most = data.draw(st.integers(0, 4))
        assert list(own_order(line, most).values()) == order[:most]
    again = place(lab.cluster, read(lab.cluster, ["q", "r"], KUEUE), NOW)
    assert sum(each.moved for each in again.values()) == 0
    assert {queue: each.pending for queue, each in again.items() if each.pending} == {
        queue: each.pending for queue, each in placed.items() if each.pending
    }


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20
)
@given(WORKLOADS, st.data())
def test_listed_workloads_stand_first_and_the_others_behind_or_nowhere(lab, workloads, data):
    make(lab.cluster, workloads, None)
    own = expected(workloads, "q", None)
    listed = data.draw(st.permutations([each.uid for each in own]))
    listed = listed[: data.draw(st.integers(0, len(own)))]
    only = data.draw(st.booleans())
    lines = read(lab.cluster, ["q"], KUEUE)
    names = [(each["namespace"], each["uid"]) for each in workloads if each["uid"] in listed]
    names.sort(key=lambda name: listed.index(name[1]))
    assert uids_of(lines["q"], [("x", "stranger"), *names]) == listed
    place(lab.cluster, lines, NOW, listed=listed, only_listed=only)
    rest = [] if only else [each.uid for each in own if each.uid not in listed]
    assert [uid for *_, uid in numbered(lab.cluster, "q")] == [*listed, *rest]


ROW = {
    "namespace": "a", "entry": "same", "queue": "q", "boost": 0, "age": 0, "position": None,
    "priority": 0, "turn": "ready",
}  # fmt: skip


def test_near_places_are_exact_at_once_and_far_ones_follow_in_slices(lab, monkeypatch):
    monkeypatch.setattr(placing, "NEAR", 2)
    monkeypatch.setattr(placing, "SLICE", 3)
    make(
        lab.cluster, [ROW | {"uid": name, "position": n} for n, name in enumerate("abcdefgh")], None
    )

    def again(**more):
        return place(lab.cluster, read(lab.cluster, ["q"], KUEUE), NOW, **more)["q"]

    def stored():
        rows = Workload.objects.filter(cluster=lab.cluster, turn="ready").order_by("uid")
        return list(rows.values_list("position", flat=True))

    # Stored are 0 to 7, as if one had come in front: the first three are near, a new one is too.
    Workload.objects.create(
        cluster=lab.cluster, uid="x", namespace="a", name="x", entry="same", queue="q",
        state="waiting", turn="ready", queued_at=NOW, created_at=NOW, observed_at=NOW,
        resource_version="1",
    )  # fmt: skip
    first = again()
    assert (first.pending, first.moved, first.near, first.far) == (9, 3, 1, 5)
    assert stored() == [1, 2, 3, 3, 4, 5, 6, 7, None]
    second = again()
    assert (second.moved, second.near, second.far) == (1, 0, 5)
    assert stored() == [1, 2, 3, 3, 4, 5, 6, 7, 9]
    third, fourth = again(far=["q"]), again(far=["q"])
    assert (third.moved, third.far, fourth.moved, fourth.far) == (3, 2, 2, 0)
    assert stored() == list(range(1, 10))


def test_a_strict_queue_has_nobody_in_front(lab):
    low = ROW | {"uid": "low", "priority": 1, "turn": "makes_room"}
    high = ROW | {"uid": "high", "priority": 2}
    make(lab.cluster, [low, high], None, Strategy.STRICT)
    place(lab.cluster, read(lab.cluster, ["q"], KUEUE), NOW)
    assert [uid for *_, uid in numbered(lab.cluster, "q")] == ["high", "low"]
    assert QueueOrder.objects.get(queue="q").front == ""
