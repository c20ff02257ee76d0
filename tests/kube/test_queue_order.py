"""Kueue's order of a queue: by hand, and against a comparison written another way."""

import json
from datetime import UTC, datetime, timedelta
from functools import cmp_to_key
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.queue_order import (
    Difference,
    Place,
    Strategy,
    Ticket,
    Turn,
    compare,
    in_order,
    places,
    preemptor,
    shares_by_use,
    stand,
    use_of,
)
from kube.queue_settings import QueueSettings

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FIXTURES = Path(__file__).parent / "fixtures"
ENTRY = {"metadata": {"name": "main"}, "spec": {"clusterQueue": "q", "stopPolicy": "None"}}
QUEUE = {"metadata": {"name": "q"}, "spec": {"stopPolicy": "None"}}


def at(seconds):
    return NOON + timedelta(seconds=seconds)


def ticket(uid, *, priority=0, seconds=0, entry=("nlp", "main"), makes_room=False):
    return Ticket(uid, entry, priority, at(seconds), makes_room)


def uids(tickets):
    return [each.uid for each in tickets]


def condition(kind, status, reason="", message="", seconds=0):
    since = at(seconds).isoformat().replace("+00:00", "Z")
    return {
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": since,
    }  # fmt: skip


def workload(*conditions, spec=None, status=None, **metadata):
    return {
        "metadata": {"name": "w", "creationTimestamp": "2026-01-01T12:00:00Z"} | metadata,
        "spec": spec or {},
        "status": {"conditions": list(conditions)} | (status or {}),
    }


DEFAULTS = QueueSettings()


def stands(found, settings=DEFAULTS):
    return stand(found, ENTRY, QUEUE, settings)


# --- the order --------------------------------------------------------------------------------------

TICKETS = st.lists(
    st.builds(
        Ticket,
        uid=st.uuids().map(str),
        entry=st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["same", "other"])),
        priority=st.integers(-2, 2),
        queued_at=st.integers(0, 3).map(at),
        makes_room=st.booleans(),
    ),
    max_size=20,
    unique_by=lambda each: each.uid,
)
USE = st.none() | st.dictionaries(
    st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["same", "other"])),
    st.sampled_from([0.0, 1.5, 7.0]),
)


def kueue_compares(front, use):
    """Compare two workloads step by step, as Kueue's own comparison reads."""

    def step(one, other):
        if use is not None:
            mine, theirs = use.get(one.entry, 0.0), use.get(other.entry, 0.0)
            if mine != theirs:
                return -1 if mine < theirs else 1
        if (one.uid == front) != (other.uid == front):
            return -1 if one.uid == front else 1
        if one.priority != other.priority:
            return -1 if one.priority > other.priority else 1
        if one.queued_at != other.queued_at:
            return -1 if one.queued_at < other.queued_at else 1
        return (one.uid > other.uid) - (one.uid < other.uid)

    return cmp_to_key(step)


@given(TICKETS, USE, st.data())
def test_the_order_is_kueues_and_does_not_depend_on_how_the_workloads_came(tickets, use, data):
    front = data.draw(st.sampled_from(["", *uids(tickets)]))
    expected = sorted(tickets, key=kueue_compares(front, use))
    shuffled = data.draw(st.permutations(tickets))
    assert in_order(shuffled, front=front, use=use) == expected


@given(TICKETS)
def test_positions_are_one_to_n_in_the_queue_and_in_every_entry(tickets):
    ordered = in_order(tickets)
    found = places(ordered)
    assert [each.position for each in found] == list(range(1, len(tickets) + 1))
    for entry in {each.entry for each in tickets}:
        own = [p.entry_position for p, t in zip(found, ordered, strict=True) if t.entry == entry]
        assert own == list(range(1, len(own) + 1))


@given(TICKETS, st.data())
def test_who_is_in_front_does_not_depend_on_how_the_workloads_came(tickets, data):
    before = data.draw(st.sampled_from(["", "gone", *uids(tickets)]))
    found = preemptor(tickets, Strategy.BEST_EFFORT, before=before)
    shuffled = data.draw(st.permutations(tickets))
    assert preemptor(shuffled, Strategy.BEST_EFFORT, before=before) == found
    assert found in ["", *uids(tickets)]


def test_same_names_in_two_namespaces_are_two_entries():
    ordered = [ticket("1", entry=("a", "same")), ticket("2", entry=("b", "same"))]
    ordered.append(ticket("3", entry=("a", "same")))
    assert places(ordered) == [Place("1", 1, 1), Place("2", 2, 1), Place("3", 3, 2)]


def test_jobs_of_the_same_second_stand_by_uid():
    late, early = ticket("1f"), ticket("0f")
    assert uids(in_order([late, early])) == ["0f", "1f"]


def test_past_use_comes_even_before_the_one_for_which_others_stop():
    front, light = ticket("1", priority=9, entry=("a", "x")), ticket("2", entry=("b", "x"))
    use = {("a", "x"): 3.0}
    assert uids(in_order([front, light], front="1", use=use)) == ["2", "1"]
    assert uids(in_order([front, light], front="1")) == ["1", "2"]


# --- who is held in front ---------------------------------------------------------------------------


def test_the_one_that_makes_room_is_in_front_of_higher_priorities():
    tickets = [ticket("1", priority=1, makes_room=True), ticket("2", priority=5)]
    assert preemptor(tickets, Strategy.BEST_EFFORT) == "1"
    assert preemptor(tickets, Strategy.STRICT) == ""


def test_an_old_kueue_keeps_it_in_front_until_it_leaves():
    tickets = [ticket("1"), ticket("2", priority=5)]
    assert preemptor(tickets, Strategy.BEST_EFFORT, before="1") == "1"
    assert preemptor(tickets, Strategy.BEST_EFFORT, before="1", keeps=False) == ""
    assert preemptor(tickets[1:], Strategy.BEST_EFFORT, before="1") == ""


def test_another_one_takes_over_when_the_first_gave_up():
    tickets = [ticket("1"), ticket("2", makes_room=True)]
    assert preemptor(tickets, Strategy.BEST_EFFORT, before="1") == "2"
    both = [ticket("1", makes_room=True), ticket("2", makes_room=True, priority=9)]
    assert preemptor(both, Strategy.BEST_EFFORT, before="1") == "1"


# --- one workload -----------------------------------------------------------------------------------

SHORT = condition("QuotaReserved", "False", "Pending", "insufficient unused quota")
ROOM = condition(
    "QuotaReserved", "False", "Pending", "short of 8. Pending the preemption of 2 workload(s)"
)
TIMEOUT = condition("Evicted", "True", "PodsReadyTimeout", "Exceeded the PodsReady timeout", 60)


@pytest.mark.parametrize(
    ("found", "turn"),
    [
        (workload(), Turn.READY),
        (workload(SHORT), Turn.TRIED),
        (workload(ROOM), Turn.MAKES_ROOM),
        (workload(condition("QuotaReserved", "False", "PendingEvaluation")), Turn.READY),
        (workload(condition("Requeued", "False", "PodsReadyTimeout"), SHORT), Turn.BACK_OFF),
        (workload(status={"requeueState": {"requeueAt": "2026-01-01T12:01:00Z"}}), Turn.BACK_OFF),
        (workload(status={"requeueState": {"count": 2}}), Turn.READY),
        (workload(condition("QuotaReserved", "True")), Turn.OUT),
        (workload(condition("QuotaReserved", "False", "AdmissionGated", "gated by: x")), Turn.OUT),
        (workload(condition("QuotaReserved", "False", "OnHold", "scaled to zero")), Turn.OUT),
        (workload(condition("Finished", "True"), SHORT), Turn.OUT),
        (workload(SHORT, spec={"active": False}), Turn.OUT),
        (workload(SHORT, deletionTimestamp="2026-01-01T12:00:00Z"), Turn.OUT),
        (workload(SHORT, creationTimestamp=None), Turn.OUT),
    ],
)
def test_turn(found, turn):
    assert stands(found).turn == turn


def test_right_after_an_eviction_nothing_was_tried():
    said = condition("QuotaReserved", "False", "Pending", "Preempted to accommodate a workload")
    evicted = condition("Evicted", "True", "Preempted", "Preempted to accommodate a workload")
    assert stands(workload(said, evicted)).turn == Turn.READY
    assert stands(workload(SHORT, evicted)).turn == Turn.TRIED


@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
def test_a_stopped_entry_takes_its_jobs_out_and_a_stopped_queue_does_not(policy):
    stopped = {"spec": {"stopPolicy": policy}}
    assert stand(workload(), stopped, QUEUE).turn == Turn.OUT
    assert stand(workload(), ENTRY, stopped).turn == Turn.READY
    assert stand(workload(), None, QUEUE).turn == Turn.OUT
    assert stand(workload(), ENTRY, None).turn == Turn.OUT


def test_pods_to_be_replaced_count_from_the_release_that_looks_at_them():
    found = workload(condition("WaitingForReplacementPods", "True"))
    assert stands(found).turn == Turn.READY
    assert stands(found, QueueSettings.read(version="0.19.2")).turn == Turn.OUT


CHECK = condition("Evicted", "True", "AdmissionCheck", "check says retry", 60)
PREEMPTED = condition("Evicted", "True", "Preempted", "Preempted to accommodate", 60)
BORROWED = condition("Preempted", "True", "InCohortReclaimWhileBorrowing", "", 60)
CREATION = "waitForPodsReady: {requeuingStrategy: {timestamp: Creation}}"
UNSORTED = "PrioritySortingWithinCohort=false"


@pytest.mark.parametrize(
    ("conditions", "settings", "since"),
    [
        ([], {}, at(0)),
        ([TIMEOUT], {}, at(60)),
        ([TIMEOUT], {"configuration": CREATION}, at(0)),
        ([TIMEOUT | {"status": "False"}], {}, at(0)),
        ([CHECK], {"configuration": CREATION}, at(60)),
        ([PREEMPTED, BORROWED], {}, at(0)),
        ([PREEMPTED, BORROWED], {"gates": UNSORTED}, at(60) + timedelta(milliseconds=1)),
    ],
)
def test_queue_time(conditions, settings, since):
    assert stands(workload(*conditions), QueueSettings.read(**settings)).queued_at == since


def test_a_boost_counts_only_with_its_gate():
    found = workload(annotations={"kueue.x-k8s.io/priority-boost": "-50"})
    assert stands(found).boost == 0
    assert stands(found, QueueSettings.read(gates="PriorityBoost=true")).boost == -50
    odd = workload(annotations={"kueue.x-k8s.io/priority-boost": "much"})
    assert stands(odd, QueueSettings.read(gates="PriorityBoost=true")).boost == 0


@pytest.mark.parametrize("release", ["0.17.0", "0.19.2", "0.19.2-granular"])
def test_recorded_workloads_are_in_the_queue_exactly_while_they_hold_nothing(release):
    recorded = json.loads((FIXTURES / f"workloads-{release}.json").read_text())
    for name, found in recorded.items():
        conditions = {each["type"]: each for each in found["status"].get("conditions", ())}
        reserved = conditions.get("QuotaReserved", {}).get("status") == "True"
        finished = conditions.get("Finished", {}).get("status") == "True"
        gated = conditions.get("QuotaReserved", {}).get("reason") == "AdmissionGated"
        off = found["spec"].get("active") is False
        held = reserved or finished or off or gated
        assert (stands(found).turn == Turn.OUT) == held, name


# --- fair sharing -----------------------------------------------------------------------------------


def test_use_is_weighed_by_resource_and_by_entry():
    used = {"cpu": "500m", "nvidia.com/gpu": "6", "memory": "1Gi"}
    status = {"fairSharing": {"admissionFairSharingStatus": {"consumedResources": used}}}
    text = "admissionFairSharing: {resourceWeights: {cpu: 2, memory: 0}}"
    settings = QueueSettings.read(configuration=text)
    assert use_of({"status": status}, settings) == 7.0
    weighed = {"spec": {"fairSharing": {"weight": "2"}}, "status": status}
    assert use_of(weighed, settings) == 3.5
    assert use_of({"spec": {"fairSharing": {"weight": "0"}}}, settings) == float("inf")
    assert use_of({}) == 0.0
    used = {"cpu": "a lot"}
    nonsense = {"fairSharing": {"admissionFairSharingStatus": {"consumedResources": used}}}
    assert use_of({"status": nonsense}, settings) == 0.0


@pytest.mark.parametrize(
    ("configuration", "on"), [("", True), ("a: 1", False), ("admissionFairSharing: {}", True)]
)
def test_a_queue_shares_by_use_when_it_and_the_manager_say_so(configuration, on):
    settings = QueueSettings.read(configuration=configuration)
    scope = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}
    assert shares_by_use({"spec": scope}, settings) is on
    assert shares_by_use({"spec": {}}, settings) is False


# --- settings -----------------------------------------------------------------------------------------


def test_settings_of_releases():
    assert QueueSettings.read() == QueueSettings()
    old, patched = QueueSettings.read(version="0.17.0"), QueueSettings.read(version="0.17.8")
    new = QueueSettings.read(version="0.19.2")
    assert (old.keeps_preemptor, patched.keeps_preemptor, new.keeps_preemptor) == (1, 1, 0)
    assert (old.long_lists, patched.long_lists, new.long_lists) == (0, 1, 1)


def test_the_configuration_file_wins_over_the_arguments():
    text = "featureGates: {PriorityBoost: true, Other: false}"
    found = QueueSettings.read(
        gates="PriorityBoost=false,PrioritySortingWithinCohort=false", configuration=text
    )
    assert (found.boost, found.cohort_priority) == (True, False)


@pytest.mark.parametrize("text", ["a: [", "- a", "5", "waitForPodsReady: x", "\x00"])
def test_a_configuration_that_is_none_leaves_the_defaults(text):
    found = QueueSettings.read(configuration=text)
    assert (found.eviction_time, found.boost, found.weights) == (True, False, {})


# --- compared with Kueue's list -----------------------------------------------------------------------


def names(text):
    return [("nlp", each) for each in text]


@pytest.mark.parametrize(
    ("own", "seen", "complete", "found"),
    [
        ("abc", "abc", True, Difference()),
        ("abc", "acb", True, Difference(moved=2)),
        ("abc", "ab", True, Difference(missing=1)),
        ("abc", "ab", False, Difference()),
        ("abcd", "abx", True, Difference(missing=2, unknown=1)),
        ("abcd", "ax", False, Difference(missing=1, unknown=1)),
        ("", "", True, Difference()),
    ],
)
def test_compare(own, seen, complete, found):
    difference = compare(names(own), names(seen), complete=complete)
    assert difference == found
    assert bool(difference) == bool(found.workloads)
