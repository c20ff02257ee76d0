"""Positions in the database: own order for all, Kueue's own list where somebody looks."""

from datetime import timedelta

import pytest
from django.utils import timezone

from kube import errors
from kube.queue_order import Turn
from queues.models import Link, QueueOrder, Workload
from queues.services import kueue_lists, looked, positions
from queues.services.positions import Positions
from tests.queues.seen import observed, workload
from tests.stack import wait_for

pytestmark = pytest.mark.django_db

NOW = timezone.now().replace(microsecond=0)
QUEUE = "nlp-train"


class Kueue:
    """Kueue's own lists; an error instead of a list is raised. Remembers what was asked."""

    def __init__(self, **lists):
        self.lists = lists
        self.asked = []

    def raw(self, path, query):
        version, queue = path.split("/")[3], path.split("/")[5]
        limit, offset = (int(value) for _key, value in query)
        self.asked.append((queue, version, limit, offset))
        found = self.lists.get(queue.replace("-", "_"), errors.NotFound("no such queue"))
        if isinstance(found, Exception):
            raise found
        names = [each if isinstance(each, tuple) else ("nlp", each) for each in found]
        items = [{"metadata": {"namespace": ns, "name": f"job-{name}-0a1b2"}} for ns, name in names]
        return {"items": items[offset : offset + limit]}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    for name in ("PLACE_EVERY", "PLACE_SHARE", "ASK_EVERY", "AGAIN", "LOOK_EVERY"):
        monkeypatch.setattr(positions, name, 0.0)


@pytest.fixture
def own(lab):
    """Positions of a cluster where nobody looks."""
    observed(lab.cluster, "ClusterQueue", QUEUE, {"spec": {"queueingStrategy": "BestEffortFIFO"}})
    made = Positions(lab.cluster, Kueue())
    yield made
    made.close()


@pytest.fixture
def watching(lab):
    """Return a function that makes the positions of a cluster with these lists, looked at."""
    observed(lab.cluster, "ClusterQueue", QUEUE, {"spec": {"queueingStrategy": "BestEffortFIFO"}})
    made = []

    def start(**lists):
        kueue = Kueue(**lists)
        made.append(Positions(lab.cluster, kueue))
        looked.look([(lab.cluster.pk, QUEUE)])
        made[-1].mark({QUEUE})
        return made[-1], kueue

    yield start
    for each in made:
        each.close()


def waiting(cluster, name, age=0, **more):
    since = NOW - timedelta(seconds=age)
    values = {"uid": f"uid-{name}", "created_at": since, "queued_at": since}
    return workload(cluster, name, **(values | more))


def places(queue=QUEUE):
    rows = Workload.objects.filter(queue=queue).exclude(position=None).order_by("position")
    return list(rows.values_list("job_name", "position", "entry_position"))


def order(queue=QUEUE):
    return QueueOrder.objects.get(queue=queue)


def refresh(made, times=1):
    """Refresh, and take the answers to what was asked meanwhile."""
    for _ in range(times):
        made.refresh()
        wait_for(lambda: all(asked.done() for asked in made.lists._asked.values()))
    made.refresh()


# --- own order ----------------------------------------------------------------------------------------


def test_positions_follow_priority_age_and_uid(lab, own):
    waiting(lab.cluster, "young", 5)
    waiting(lab.cluster, "old", 50, namespace="cv")
    waiting(lab.cluster, "b-same", 5)
    waiting(lab.cluster, "high", 1, priority=9000)
    waiting(lab.cluster, "boosted", 1, priority=8000, boost=2000)
    own.mark({QUEUE})
    own.refresh()
    assert places() == [
        ("boosted", 1, 1), ("high", 2, 2), ("old", 3, 1), ("b-same", 4, 3), ("young", 5, 4)
    ]  # fmt: skip
    found = order()
    assert (found.pending, found.source, found.strategy) == (5, "own", "BestEffortFIFO")
    assert not found.agreed
    assert not found.estimated


def test_who_leaves_the_queue_loses_the_position_and_the_others_move_up(lab, own):
    first, second = waiting(lab.cluster, "a", 9), waiting(lab.cluster, "b", 8)
    waiting(lab.cluster, "c", 7)
    own.mark({QUEUE})
    own.refresh()
    Workload.objects.filter(pk=first.pk).update(state="running", turn="")
    Workload.objects.filter(pk=second.pk).delete()
    own.mark({QUEUE, ""})
    own.refresh()
    assert places() == [("c", 1, 1)]
    assert order().pending == 1


def test_a_queue_that_was_not_marked_is_left_alone_until_the_next_look_at_all(lab, own):
    own.refresh()
    waiting(lab.cluster, "a")
    own.refresh()
    assert places() == []
    own._sweep_after = 0.0
    own.refresh()
    assert places() == [("a", 1, 1)]


def test_what_does_not_move_is_not_written(lab, own, django_assert_num_queries):
    kept, moved = waiting(lab.cluster, "a", 9), waiting(lab.cluster, "b", 8)
    other = waiting(lab.cluster, "x", queue="cv-train")
    own.mark({QUEUE, "cv-train"})
    own.refresh()
    Workload.objects.update(positioned_at=None)
    waiting(lab.cluster, "between", 9, uid="uid-az")
    own.mark({QUEUE, "cv-train"})
    with django_assert_num_queries(7):  # savepoint, 3 reads, 2 writes, release
        own.refresh()
    for row in (kept, moved, other):
        row.refresh_from_db()
    assert (kept.positioned_at, other.positioned_at) == (None, None)
    assert (moved.position, moved.positioned_at is None) == (3, False)
    own.mark({QUEUE, "cv-train"})
    with django_assert_num_queries(6):  # no queue's row to write
        own.refresh()


def test_one_that_makes_room_stands_in_front_and_is_remembered_there(lab, own):
    row = waiting(lab.cluster, "low", priority=1, turn=Turn.MAKES_ROOM)
    waiting(lab.cluster, "high", priority=9000)
    own.mark({QUEUE})
    own.refresh()
    assert [name for name, *_ in places()] == ["low", "high"]
    Workload.objects.filter(pk=row.pk).update(turn=Turn.TRIED)
    own.mark({QUEUE})
    own.refresh()
    assert [name for name, *_ in places()] == ["low", "high"]
    assert order().front == "uid-low"


def test_past_use_decides_where_the_queue_says_so_and_is_an_estimate(lab, own):
    scope = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    observed(
        lab.cluster, "ClusterQueue", "shared",
        {"spec": {"admissionScope": scope, "queueingStrategy": "BestEffortFIFO"}},
    )  # fmt: skip
    for space, used in (("nlp", "40"), ("cv", "3")):
        status = {"admissionFairSharingStatus": {"consumedResources": {"nvidia.com/gpu": used}}}
        body = {"spec": {"clusterQueue": "shared"}, "status": {"fairSharing": status}}
        observed(lab.cluster, "LocalQueue", "main", body, namespace=space)
    waiting(lab.cluster, "heavy", 50, queue="shared", priority=9000)
    waiting(lab.cluster, "light", 5, queue="shared", namespace="cv")
    own.mark({"shared"})
    own.refresh()
    assert [name for name, *_ in places("shared")] == ["light", "heavy"]
    assert order("shared").estimated


def test_the_settings_of_kueue_are_those_that_were_seen(lab):
    Link.objects.update_or_create(
        cluster=lab.cluster,
        defaults={
            "server": "https://x", "ca_pem": "",
            "capabilities": {"kueue_version": "0.19.2", "feature_gates": "PriorityBoost=true"},
        },
    )  # fmt: skip
    found = Positions(lab.cluster, Kueue())
    assert (found.settings.boost, found.settings.keeps_preemptor) == (True, False)
    assert found.lists.page_size == kueue_lists.LONG_PAGE


# --- Kueue's own list ---------------------------------------------------------------------------------


def test_nobody_looks_and_nothing_is_asked(lab, own):
    waiting(lab.cluster, "a")
    own.mark({QUEUE})
    refresh(own, 3)
    assert own.lists.client.asked == []


def test_a_list_that_agrees_confirms_the_own_order(lab, watching):
    waiting(lab.cluster, "a", 9)
    waiting(lab.cluster, "b", 8)
    made, kueue = watching(nlp_train=["a", "b"])
    refresh(made)
    found = order()
    assert (found.agreed, found.checks, found.differed, found.source) == (True, 1, 0, "own")
    refresh(made)
    assert len(kueue.asked) == 1


def test_a_change_takes_the_confirmation_away_until_the_next_list(lab, watching):
    waiting(lab.cluster, "a", 9)
    made, kueue = watching(nlp_train=["a"])
    refresh(made)
    waiting(lab.cluster, "b", 8)
    kueue.lists["nlp_train"] = errors.NotVisible("nobody to ask")
    made.mark({QUEUE})
    refresh(made)
    assert not order().agreed
    assert order().trouble == "silent"
    assert [name for name, *_ in places()] == ["a", "b"]


def test_a_list_that_differs_wins_when_it_says_so_twice(lab, watching, caplog):
    for number, name in enumerate("abcd"):
        waiting(lab.cluster, name, 9 - number)
    made, _ = watching(nlp_train=["b", "a", "c"])
    refresh(made)
    assert [name for name, *_ in places()] == ["a", "b", "c", "d"]
    assert order().checks == 0
    refresh(made)
    assert places() == [("b", 1, 1), ("a", 2, 2), ("c", 3, 3)]
    found = order()
    assert (found.source, found.differing, found.checks, found.differed) == ("kueue", 3, 1, 1)
    assert found.agreed


def test_where_kueue_differs_its_list_is_waited_for_a_little(lab, watching, monkeypatch):
    waiting(lab.cluster, "a", 9)
    waiting(lab.cluster, "b", 8)
    made, kueue = watching(nlp_train=["b", "a"])
    refresh(made, 2)
    monkeypatch.setattr(positions, "SLOW", 3600.0)
    waiting(lab.cluster, "c", 7)
    made.mark({QUEUE})
    kueue.lists["nlp_train"] = ["b", "c", "a"]
    refresh(made)
    assert [name for name, *_ in places()] == ["b", "c", "a"]
    monkeypatch.setattr(positions, "SLOW", 0.0)
    kueue.lists["nlp_train"] = errors.NotVisible("nobody to ask")
    made.mark({QUEUE})
    refresh(made)
    assert [name for name, *_ in places()] == ["a", "b", "c"]
    assert order().estimated


def test_kueue_is_believed_again_when_it_agrees_again(lab, watching):
    waiting(lab.cluster, "a", 9)
    waiting(lab.cluster, "b", 8)
    made, kueue = watching(nlp_train=["b", "a"])
    refresh(made, 2)
    kueue.lists["nlp_train"] = ["a", "b"]
    made.mark({QUEUE})
    refresh(made)
    found = order()
    assert (found.source, found.differing, found.agreed) == ("own", 0, True)
    assert [name for name, *_ in places()] == ["a", "b"]


def test_a_list_from_before_the_last_change_says_nothing(lab, watching):
    waiting(lab.cluster, "a", 9)
    waiting(lab.cluster, "ghost", turn="", state="running")
    made, kueue = watching(nlp_train=["ghost"])
    for number in range(4):
        made.refresh()
        wait_for(lambda: all(asked.done() for asked in made.lists._asked.values()))
        waiting(lab.cluster, f"new-{number}", 5 - number)
        made.mark({QUEUE})
    made.refresh()
    assert len(kueue.asked) >= 4
    assert (order().checks, order().source, order().pending) == (0, "own", 5)


def test_a_list_with_workloads_that_nobody_has_seen_yet_says_nothing(lab, watching):
    waiting(lab.cluster, "a", 9)
    made, kueue = watching(nlp_train=["new", "a"])
    refresh(made, 4)
    assert len(kueue.asked) >= 4
    assert (order().checks, places()) == (0, [("a", 1, 1)])
    waiting(lab.cluster, "new", 1, turn="", state="running")
    refresh(made, 2)
    assert (order().differing, order().source) == (1, "kueue")


def test_places_beyond_the_end_of_the_list_are_in_own_order(lab, watching, monkeypatch):
    monkeypatch.setattr(kueue_lists, "DEPTH", 2)
    for number, name in enumerate("abcd"):
        waiting(lab.cluster, name, 9 - number)
    made, _ = watching(nlp_train=["b", "a", "c", "d"])
    refresh(made, 2)
    assert [name for name, *_ in places()] == ["b", "a", "c", "d"]
    assert order().differing == 2


def test_only_workloads_of_the_queue_get_its_places(lab, watching):
    waiting(lab.cluster, "a", 9)
    waiting(lab.cluster, "a", 9, uid="uid-of-cv", namespace="cv", queue="cv-train")
    made, _ = watching(nlp_train=[("cv", "a"), ("nlp", "a")])
    refresh(made, 2)
    assert places() == [("a", 1, 1)]
    assert Workload.objects.get(queue="cv-train").position == 1


# --- trouble ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (errors.NotFound("no such queue"), "unknown_queue"),
        (errors.NotVisible("nobody to ask"), "silent"),
        (errors.Forbidden("not you"), "forbidden"),
        (errors.Throttled("later", retry_after=40.0), "throttled"),
        (errors.KindMissing("404 page not found"), "absent"),
    ],
)
def test_trouble_is_kept_until_there_is_a_list_and_the_own_order_stands(
    lab, watching, error, trouble
):
    waiting(lab.cluster, "a")
    made, kueue = watching(nlp_train=error)
    refresh(made, 3)
    assert order().trouble == trouble
    assert places() == [("a", 1, 1)]
    assert len(kueue.asked) == (2 if trouble == "absent" else 1)
    kueue.lists["nlp_train"] = ["a"]
    made.lists.quiet_until = made._watch(QUEUE).ask_after = 0.0
    refresh(made)
    assert (order().trouble, order().agreed) == ("", True)


def test_a_list_that_cannot_be_read_is_no_list(lab, watching):
    waiting(lab.cluster, "a")
    made, kueue = watching()
    kueue.raw = lambda _path, _query: {"items": [{"metadata": {"name": "a"}, "priority": "much"}]}
    refresh(made, 2)
    assert places() == [("a", 1, 1)]
    assert order().trouble == "silent"


def test_a_long_list_is_asked_in_pages_of_a_thousand(lab, watching):
    names = [f"w-{number:04}" for number in range(1203)]
    Workload.objects.bulk_create(
        Workload(
            cluster=lab.cluster, uid=name, namespace="nlp", name=f"job-{name}-0a1b2",
            job_name=name, entry="main", queue=QUEUE, state="waiting", turn="ready",
            created_at=NOW, queued_at=NOW, observed_at=NOW, resource_version="1",
        )
        for name in names
    )  # fmt: skip
    made, kueue = watching(nlp_train=names)
    refresh(made)
    assert order().agreed
    assert [(limit, offset) for *_, limit, offset in kueue.asked] == [(1000, 0), (253, 1000)]
    last = Workload.objects.get(job_name=names[-1])
    assert (last.position, last.entry_position) == (1203, 1203)
