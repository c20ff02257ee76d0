"""What pods take of each node: the sum over the pods that are there, and a page that knows it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queues.models import ObservedObject
from queues.services.node_use import NodeUse, taken
from tests.queues.clusterside import Side, meta

GPU = "nvidia.com/gpu"


def pod(name, node="", devices=8, phase="Running", **more):
    container = {"name": "c", "resources": {"requests": {GPU: str(devices), "cpu": "4"}}}
    spec = {"containers": [container], **({"nodeName": node} if node else {})}
    labels = {"labels": {"kueue.x-k8s.io/managed": "true"}}
    return {
        "metadata": meta(name, "nlp", **labels, **more),
        "spec": spec,
        "status": {"phase": phase},
    }


def test_a_pod_takes_its_devices_where_it_lies():
    assert taken(pod("a", "n1")) == ("n1", {GPU: 8})
    assert taken(pod("a", "n1", deletionTimestamp="2026-11-29T12:00:00Z")) == ("n1", {GPU: 8})


@pytest.mark.parametrize(
    "item",
    [
        pod("a"),
        pod("a", "n1", phase="Succeeded"),
        pod("a", "n1", phase="Failed"),
        pod("a", "n1", 0),
    ],
)
def test_a_pod_that_takes_nothing(item):
    assert taken(item) is None


def test_only_what_changes_a_number_is_told():
    use = NodeUse()

    assert use.take("ADDED", pod("a")) == set()
    assert use.take("MODIFIED", pod("a", "n1")) == {"n1"}
    assert use.take("MODIFIED", pod("a", "n1", resourceVersion="8")) == set()
    assert use.take("MODIFIED", pod("a", "n2")) == {"n1", "n2"}
    assert (use.of("n1"), use.of("n2")) == ({}, {GPU: 8})
    assert use.take("MODIFIED", pod("a", "n2", phase="Failed")) == {"n2"}
    assert use.take("DELETED", pod("a", "n2", phase="Failed")) == set()


changes = st.lists(
    st.tuples(
        st.sampled_from(["ADDED", "MODIFIED", "DELETED"]),
        st.sampled_from("abcd"),
        st.sampled_from(["", "n1", "n2"]),
        st.integers(0, 4),
        st.sampled_from(["Pending", "Running", "Succeeded"]),
    ),
    max_size=30,
)


@given(changes)
def test_the_sum_is_that_of_the_pods_that_are_there(rows):
    use, there = NodeUse(), {}
    for change, name, node, devices, phase in rows:
        item = pod(name, node, devices, phase)
        use.take(change, item)
        there[name] = None if change == "DELETED" else taken(item)
    for node in ("n1", "n2"):
        total = sum(each[1][GPU] for each in there.values() if each and each[0] == node)
        assert use.of(node) == ({GPU: total} if total else {})


# --- in the rows ----------------------------------------------------------------------------------


def node(name="n1"):
    ready = {"type": "Ready", "status": "True"}
    return {"metadata": meta(name), "spec": {}, "status": {
        "allocatable": {GPU: "8"}, "conditions": [ready]}}  # fmt: skip


def used(name="n1"):
    return ObservedObject.objects.get(kind="Node", name=name).body.get("used")


@pytest.fixture
def side(lab):
    found = Side(lab.cluster)
    found.listed(Node=[node("n1"), node("n2")])
    return found


def test_nothing_is_said_before_the_pods_were_read(side):
    assert used() is None

    side.listed(Pod=[])
    assert used() == {}


def test_the_row_of_a_node_follows_its_pods(side):
    side.listed(Pod=[pod("a", "n1", 4)])
    assert (used("n1"), used("n2")) == ({GPU: 4}, {})

    side.tell("Pod", pod("b", "n1", 2))
    side.write()
    assert used("n1") == {GPU: 6}

    side.tell("Pod", pod("a", "n1", 4), change="DELETED")
    side.write()
    assert used("n1") == {GPU: 2}


def test_a_pod_that_a_new_list_lacks_has_left_its_node(side):
    side.listed(Pod=[pod("a", "n1", 4), pod("b", "n2", 4)])

    side.listed(Pod=[pod("b", "n2", 4)])

    assert (used("n1"), used("n2")) == ({}, {GPU: 4})


def test_a_pod_of_nobody_counts_too(side):
    side.listed(Pod=[])
    stranger = pod("x", "n2", 3)
    stranger["metadata"]["labels"] = {}
    side.tell("Pod", stranger)
    side.write()

    assert used("n2") == {GPU: 3}


def test_what_stays_is_not_written_again(side):
    side.listed(Pod=[pod("a", "n1", 4)])

    side.tell("Pod", pod("a", "n1", 4, resourceVersion="8"), change="MODIFIED")

    assert ("Node", "", "n1") not in side.write().objects


def test_a_pod_on_a_node_that_is_not_there_harms_nobody(side):
    side.listed(Pod=[pod("a", "gone", 4)])
    side.listed(Node=[node("n1"), node("gone")])

    assert used("gone") == {GPU: 4}
