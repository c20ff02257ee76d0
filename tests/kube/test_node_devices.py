"""Which devices a node offers, of which flavor, and whether they can be used."""

import pytest

from kube.keys import RESOURCE
from kube.node_devices import Flavor, devices, flipped_at, read_flavor, state

GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"
LABELS = {"model": "a100", "zone": "x"}


def node(allocatable=None, **labels):
    return {"metadata": {"labels": labels}, "status": {"allocatable": allocatable or {GPU: "8"}}}


def flavor(name, resource="", **labels):
    return Flavor(name, labels, resource)


@pytest.mark.parametrize(
    ("flavors", "found"),
    [
        ([flavor("a", model="a100")], "a"),
        ([flavor("a", model="a100"), flavor("h", model="h100"), flavor("any")], "a"),
        ([flavor("any")], "any"),
        ([flavor("any"), flavor("more")], ""),
        ([flavor("a", model="a100"), flavor("b", zone="x")], ""),
        ([flavor("a", model="a100", zone="y")], ""),
        ([flavor("a", MIG, model="a100"), flavor("b", GPU, zone="x")], "b"),
        ([], ""),
    ],
)
def test_devices_are_of_the_one_flavor_that_fits(flavors, found):
    assert devices(node(**LABELS), flavors) == ((found, GPU, 8),)


def test_only_devices_count_and_only_those_that_there_are():
    offered = {"cpu": "64", "memory": "1Ti", GPU: "0", MIG: "7", "kubernetes.io/x": "1", 3: "1"}
    assert devices(node(offered), []) == (("", MIG, 7),)
    assert devices({}, []) == devices({"status": {"allocatable": []}}, []) == ()


@pytest.mark.parametrize("place", ["labels", "annotations"])
def test_a_flavor_may_say_what_its_device_is(place):
    item = {"metadata": {"name": "a", place: {RESOURCE: MIG}}, "spec": {"nodeLabels": LABELS}}
    assert read_flavor(item) == ("a", LABELS, MIG)
    assert read_flavor({}) == ("", {}, "")


@pytest.mark.parametrize(
    ("ready", "unschedulable", "found"),
    [("True", False, "ready"), ("True", True, "cordoned"), ("False", False, "down"),
     ("Unknown", True, "down"), (None, False, "down"), ("True", "yes", "ready")],
)  # fmt: skip
def test_a_node_that_is_not_ready_is_down_whatever_else_it_is(ready, unschedulable, found):
    conditions = [{"type": "DiskPressure", "status": "True"}]
    conditions += [{"type": "Ready", "status": ready}] if ready else []
    item = {"spec": {"unschedulable": unschedulable}, "status": {"conditions": conditions}}
    assert state(item) == found


@pytest.mark.parametrize(
    ("written", "found"),
    [("2026-11-29T12:00:00Z", "2026-11-29 12:00:00+00:00"), ("soon", "None"), (None, "None")],
)
def test_a_node_says_when_it_became_what_it_is(written, found):
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": written}
    assert str(flipped_at({"status": {"conditions": [ready]}})) == found
