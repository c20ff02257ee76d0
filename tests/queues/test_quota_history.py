"""What queues, departments and nodes had, and since when: one row for each change, none besides."""

from datetime import timedelta

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from queues.models import Gap, NodeChange, QuotaChange, Stream
from queues.services import noted
from queues.services import observed_rows as rows
from queues.services.noted import Look, Said
from tests.queues.clusterside import AT, KIND, Side, condition, meta, queue, stream

pytestmark = pytest.mark.django_db
GPU = "nvidia.com/gpu"
LABELS = {"gpu-lab.io/model": "a100"}


@pytest.fixture
def side(lab):
    return Side(lab.cluster)


def quota(nominal=16, name="nlp-train", cohort="research", *, pending=0, generation=None, **more):
    """A ClusterQueue; ``more`` are fields of its only quota line."""
    line = {"name": GPU, "nominalQuota": str(nominal), **more}
    group = {"coveredResources": [GPU], "flavors": [{"name": "a100", "resources": [line]}]}
    item = queue(name, resourceGroups=[group], cohortName=cohort)
    item["status"]["pendingWorkloads"] = pending
    if generation:
        item["metadata"]["generation"] = generation
    return item


def cohort(nominal, name="research", parent=""):
    line = {"name": GPU, "nominalQuota": str(nominal)}
    group = {"coveredResources": [GPU], "flavors": [{"name": "a100", "resources": [line]}]}
    return {"metadata": meta(name), "spec": {"parentName": parent, "resourceGroups": [group]}}


def flavor(name="a100", labels=None, **more):
    spec = {"nodeLabels": LABELS if labels is None else labels}
    return {"metadata": meta(name, **more), "spec": spec}


def node(name="n1", devices=8, *, ready="True", unschedulable=False, labels=None):
    return {
        "metadata": meta(name, labels=LABELS if labels is None else labels),
        "spec": {"unschedulable": unschedulable},
        "status": {
            "allocatable": {"cpu": "64", GPU: str(devices)},
            "conditions": [condition("Ready", ready, "Kubelet")],
        },
    }


def said():
    """Everything that is on record of quotas, in its order: names and what they had."""
    rows = QuotaChange.objects.order_by("pk").values_list("name", "lines", "removed")
    return [(name, sum(x["nominal"] for x in lines), gone) for name, lines, gone in rows]


def nodes():
    found = NodeChange.objects.order_by("pk").values_list("name", "state", "devices")
    keys = ("flavor", "resource", "amount")
    return [
        (name, state, [tuple(each[key] for key in keys) for each in devices])
        for name, state, devices in found
    ]


# --- quotas -----------------------------------------------------------------------------------


def test_a_quota_is_noted_with_its_limits_and_its_department(side):
    side.listed(ClusterQueue=[quota(16, lendingLimit="4", borrowingLimit="2")])
    row = QuotaChange.objects.get()
    assert (row.kind, row.name, row.parent) == ("ClusterQueue", "nlp-train", "research")
    assert row.lines == [
        {"flavor": "a100", "resource": GPU, "nominal": 16, "borrowing_limit": 2, "lending_limit": 4}
    ]
    assert (row.quality, row.earliest, row.latest) == ("unknown", None, row.since)


def test_counters_are_no_change(side, django_assert_num_queries):
    side.listed(ClusterQueue=[quota()], Cohort=[cohort(4)])
    assert len(said()) == 2
    side.tell("ClusterQueue", quota(pending=7), change="MODIFIED")
    side.write()
    assert len(said()) == 2
    with django_assert_num_queries(0):
        side.window.quotas.write(timezone.now())


def test_each_change_is_a_row(side):
    side.listed(ClusterQueue=[quota(16)], Cohort=[cohort(4)])
    for change, item in (("MODIFIED", quota(24)), ("MODIFIED", quota(24, cohort="other")),
                         ("DELETED", quota(24, cohort="other")), ("ADDED", quota(8))):  # fmt: skip
        side.tell("ClusterQueue", item, change=change)
        side.write()
    side.tell("Cohort", cohort(4, parent="all"), change="MODIFIED")
    side.write()
    assert said() == [
        ("nlp-train", 16, False), ("research", 4, False), ("nlp-train", 24, False),
        ("nlp-train", 24, False), ("nlp-train", 0, True), ("nlp-train", 8, False),
        ("research", 4, False),
    ]  # fmt: skip
    assert list(QuotaChange.objects.order_by("pk").values_list("parent", flat=True)) == [
        "research", "", "research", "other", "", "research", "all",
    ]  # fmt: skip


def test_a_restart_notes_nothing_that_stands_there(side, lab):
    items = {"ClusterQueue": [quota()], "Cohort": [cohort(4)], "ResourceFlavor": [flavor()],
             "Node": [node()]}  # fmt: skip
    side.listed(**items)
    Side(lab.cluster).listed(**items)
    again = Side(lab.cluster)
    again.listed(Node=items["Node"])
    again.listed(ResourceFlavor=items["ResourceFlavor"])
    assert (QuotaChange.objects.count(), NodeChange.objects.count()) == (2, 1)


def test_rows_of_the_objects_may_be_older_than_their_history(side, lab):
    """The history begins with the first observer that writes it, whatever stands there."""
    side.window.quotas.write = lambda now: 0
    side.listed(ClusterQueue=[quota()])
    assert said() == []
    done = Side(lab.cluster).listed(ClusterQueue=[quota()])
    assert (done.rows, said()) == (0, [("nlp-train", 16, False)])


def test_what_went_while_nobody_listened_went_between_two_looks(side, lab):
    side.listed(ClusterQueue=[quota(), quota(8, "cv-train")])
    alive = stream(lab.cluster, "ClusterQueue").alive_at - timedelta(minutes=10)
    Stream.objects.update(alive_at=alive)
    Side(lab.cluster).listed(ClusterQueue=[quota(24)])

    gone, more = QuotaChange.objects.order_by("name", "pk")[1:4:2]
    assert (gone.name, gone.removed, more.name, more.removed) == (
        "cv-train", True, "nlp-train", False,
    )  # fmt: skip
    for row in (gone, more):
        assert (row.quality, row.earliest) == ("bounded", alive)
        assert row.earliest < row.since <= row.latest


def test_a_change_on_a_live_line_was_just_now(side, lab):
    side.listed(ClusterQueue=[quota()])
    rows.alive(lab.cluster, ["ClusterQueue"])
    Stream.objects.update(alive_at=timezone.now() - timedelta(seconds=6))
    side.tell("ClusterQueue", quota(24), change="MODIFIED")
    side.write()
    row = QuotaChange.objects.last()
    assert (row.quality, row.latest - row.earliest) == ("seen", timedelta(seconds=2))


def test_what_comes_right_after_a_gap_may_be_as_old_as_the_gap(side, lab):
    side.listed(ClusterQueue=[quota()])
    now = timezone.now()
    begun = now - timedelta(minutes=3)
    Gap.objects.create(cluster=lab.cluster, kind="ClusterQueue", starts=begun,
                       ends=now - timedelta(seconds=1), cause="lost", healed="resumed")  # fmt: skip
    side.tell("ClusterQueue", quota(24), change="MODIFIED")
    side.write()
    row = QuotaChange.objects.last()
    assert (row.quality, row.earliest) == ("bounded", begun)


def test_a_queue_in_its_first_form_has_had_it_since_it_was_made(side):
    side.listed(ClusterQueue=[quota(generation=1)])
    row = QuotaChange.objects.get()
    assert (row.quality, row.since.strftime("%FT%TZ"), row.earliest) == ("exact", AT, None)


def test_two_changes_never_stand_in_the_wrong_order(side, lab):
    """A list after a gap puts its change in the middle of the gap, not before the last change."""
    side.listed(ClusterQueue=[quota()])
    first = QuotaChange.objects.get()
    Stream.objects.update(alive_at=first.since - timedelta(hours=1))
    Side(lab.cluster).listed(ClusterQueue=[quota(24)])
    row = QuotaChange.objects.last()
    assert row.since == first.since
    assert row.earliest < first.since <= row.latest


def test_an_observer_that_lost_its_lease_writes_over_nothing_newer(side, lab):
    side.listed(ClusterQueue=[quota(16)])
    Side(lab.cluster).listed(ClusterQueue=[quota(24)])
    side.tell("ClusterQueue", quota(8), change="MODIFIED")
    side.write()
    assert said() == [("nlp-train", 16, False), ("nlp-train", 24, False)]


def test_any_number_of_changes_takes_the_same_few_statements(lab, django_assert_num_queries):
    look = Look(timezone.now(), {}, frozenset())
    for count in (1, 50):
        names = {("ClusterQueue", f"q{count}-{n}"): Said(n + 1, ("", [])) for n in range(count)}
        with transaction.atomic(), django_assert_num_queries(4):
            assert noted.append(lab.cluster, names, look) == count
    with django_assert_num_queries(0):
        noted.append(lab.cluster, {}, look)


def test_an_odd_object_does_not_stop_the_others(side):
    """The null character, which no row can hold, numbers that are none, and lists that are none."""
    odd = quota(4, "odd", cohort="re\0search")
    worse = quota("a lot", "worse")
    worst = queue("worst", resourceGroups=[None, 7, {"flavors": [{"name": 3, "resources": "x"}]}])
    side.listed(ClusterQueue=[odd, worse, worst, quota()], ResourceFlavor=[{"metadata": meta("f")}],
                Node=[{"metadata": meta("n"), "status": {"allocatable": {GPU: "\0"}}}])  # fmt: skip
    assert said() == [
        ("nlp-train", 16, False), ("odd", 4, False), ("worse", 0, False), ("worst", 0, False),
    ]  # fmt: skip
    assert QuotaChange.objects.get(name="odd").parent == "research"


def test_rows_are_only_added(side):
    side.listed(ClusterQueue=[quota()], ResourceFlavor=[flavor()], Node=[node()])
    for model in (QuotaChange, NodeChange):
        for change in (lambda m=model: m.objects.update(name="x"),
                       lambda m=model: m.objects.all()._raw_delete("default")):  # fmt: skip
            with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic():
                change()


# --- nodes ------------------------------------------------------------------------------------


def test_devices_of_a_node_are_of_the_flavor_that_has_its_labels(side):
    side.listed(ResourceFlavor=[flavor(), flavor("h100", {"gpu-lab.io/model": "h100"}),
                                flavor("any", {})], Node=[node()])  # fmt: skip
    assert nodes() == [("n1", "ready", [("a100", GPU, 8)])]


def test_a_node_is_noted_once_its_flavors_are_known(side):
    side.listed(Node=[node()])
    assert nodes() == []
    side.listed(ResourceFlavor=[flavor()])
    assert nodes() == [("n1", "ready", [("a100", GPU, 8)])]


def test_a_node_of_several_flavors_or_of_none_is_of_none(side):
    side.listed(ResourceFlavor=[flavor(), flavor("spot")], Node=[node(), node("n2", labels={})])
    assert nodes() == [("n1", "ready", [("", GPU, 8)]), ("n2", "ready", [("", GPU, 8)])]


def test_a_flavor_that_moves_moves_its_nodes(side):
    side.listed(ResourceFlavor=[flavor()], Node=[node()])
    side.tell("ResourceFlavor", flavor("a100", {"other": "x"}), change="MODIFIED")
    side.write()
    assert nodes()[1:] == [("n1", "ready", [("", GPU, 8)])]


def test_a_node_that_can_be_used_no_longer(side):
    side.listed(ResourceFlavor=[flavor()], Node=[node()])
    for item in (node(unschedulable=True), node(ready="Unknown", unschedulable=True), node(),
                 node(devices=7), node(devices=0)):  # fmt: skip
        side.tell("Node", item, change="MODIFIED")
        side.write()
    side.tell("Node", node(), change="DELETED")
    side.write()
    eight = [("a100", GPU, 8)]
    assert nodes() == [
        ("n1", "ready", eight), ("n1", "cordoned", eight), ("n1", "down", eight),
        ("n1", "ready", eight), ("n1", "ready", [("a100", GPU, 7)]), ("n1", "ready", []),
    ]  # fmt: skip


def test_a_node_says_itself_when_it_went_down(side, lab):
    """Its condition is exact where it lies between two looks; an older one tells nothing."""
    side.listed(ResourceFlavor=[flavor()], Node=[node(), node("n2")])
    alive = timezone.now() - timedelta(hours=2)
    Stream.objects.update(alive_at=alive)
    second = Side(lab.cluster)
    went = (alive + timedelta(minutes=5)).replace(microsecond=0)
    down = node("n3", ready="Unknown")
    down["status"]["conditions"][0]["lastTransitionTime"] = went.isoformat()
    second.listed(ResourceFlavor=[flavor()], Node=[node(unschedulable=True), node("n2"), down])
    found = {row.name: row for row in NodeChange.objects.order_by("pk")}
    assert (found["n3"].quality, found["n3"].since, found["n3"].earliest) == ("exact", went, None)
    assert (found["n1"].state, found["n1"].quality) == ("cordoned", "bounded")


def test_a_node_without_devices_is_of_no_interest(side):
    side.listed(ResourceFlavor=[flavor()], Node=[node(devices=0)])
    side.tell("Node", node(devices=0, ready="False"), change="MODIFIED")
    side.write()
    assert nodes() == []


def test_a_node_that_went_unseen(side, lab):
    side.listed(ResourceFlavor=[flavor()], Node=[node(), node("n2")])
    Side(lab.cluster).listed(ResourceFlavor=[flavor()], Node=[node("n2")])
    assert [(r.name, r.removed) for r in NodeChange.objects.order_by("pk")] == [
        ("n1", False), ("n2", False), ("n1", True),
    ]  # fmt: skip


def test_a_list_that_comes_still_takes_nothing_away(side):
    side.listed(ClusterQueue=[quota(), quota(8, "cv-train")])
    side.begin("ClusterQueue")
    side.tell("ClusterQueue", quota())
    side.write()
    assert len(said()) == 2
    side.memory.end(KIND["ClusterQueue"], "9")
    side.write()
    assert said()[2:] == [("cv-train", 0, True)]


def test_a_node_is_noted_with_its_names_in_a_bill(side):
    made = node()
    made["spec"]["providerID"] = "aws:///eu-1a/i-0abc"
    made["metadata"]["annotations"] = {"container.googleapis.com/instance_id": "4711"}
    side.listed(ResourceFlavor=[flavor()], Node=[made, node("n2")])
    other = node()
    other["spec"]["providerID"] = "aws:///eu-1a/i-0def"
    side.tell("Node", other, change="MODIFIED")
    side.write()
    side.tell("Node", other, change="DELETED")
    side.write()

    found = NodeChange.objects.order_by("pk").values_list("name", "machines", "removed")
    assert list(found) == [
        ("n1", ["aws:///eu-1a/i-0abc", "4711"], False), ("n2", [], False),
        ("n1", ["aws:///eu-1a/i-0def"], False), ("n1", [], True),
    ]  # fmt: skip
