"""Rules of flavors and topologies."""

from dataclasses import replace

import pytest

from kube.catalog import (
    DeviceKind,
    Taint,
    Toleration,
    TopologySpec,
)
from kube.problems import errors, warnings
from kube.rules import check
from tests.kube.make import (
    GPU,
    MIG,
    catalog,
    flavor,
    found,
    with_flavor,
)


def test_a_topology_needs_node_labels():
    rack = TopologySpec(name="t", levels=("example.com/rack",))
    made = replace(with_flavor(topology="t", node_labels=()), topologies=(rack,))
    assert found(made) == [("GP-2180", "flavors[a100].node_labels")]


def test_warns_of_devices_on_any_node():
    assert found(with_flavor(node_labels=())) == [("GP-2182", "flavors[a100].node_labels")]
    assert errors(check(with_flavor(node_labels=()))) == ()


@pytest.mark.parametrize(
    "labels",
    [
        (("gpuportal.io/flavor", "a100"),),
        (("gpuportal.io/flavor", "a100"), ("zone", "1")),
        (),
    ],
)
def test_two_flavors_do_not_select_the_same_nodes(labels):
    made = catalog(flavors=(flavor(), flavor("other", node_labels=labels)))
    assert ("GP-2181", "flavors[other].node_labels") in [
        (each.code, each.field) for each in errors(check(made))
    ]


def test_different_devices_on_the_same_nodes_are_a_warning():
    other = flavor("other", resource="nvidia.com/gpu.shared", node_labels=flavor().node_labels)
    made = catalog(flavors=(flavor(), other))
    assert [each.code for each in warnings(check(made))] == ["GP-2181"]
    assert errors(check(made)) == ()


@pytest.mark.parametrize("labels", [(("gpuportal.io/flavor", "h100"),), (("zone", "1"),)])
def test_other_labels_select_other_nodes(labels):
    assert found(catalog(flavors=(flavor(), flavor("other", node_labels=labels)))) == []


def test_a_label_key_stands_once():
    made = with_flavor(node_labels=(("a", "1"), ("a", "2")))
    assert found(made) == [("GP-2150", "flavors[a100].node_labels")]


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("node_labels", tuple((f"k{i}", "v") for i in range(9))),
        ("taints", tuple(Taint(key=f"k{i}") for i in range(9))),
        ("tolerations", tuple(Toleration(key=f"k{i}") for i in range(9))),
    ],
)
def test_at_most_eight_of_each(part, values):
    assert found(with_flavor(**{part: values})) == [("GP-2183", f"flavors[a100].{part}")]
    assert found(with_flavor(**{part: values[:8]})) == []


def test_taints_are_unique_by_key_and_effect():
    one = Taint(key="a", value="x")
    other = Taint(key="a", value="y")
    assert found(with_flavor(taints=(one, other))) == [("GP-2184", "flavors[a100].taints[1]")]
    assert found(with_flavor(taints=(one, replace(other, effect="NoExecute")))) == []


@pytest.mark.parametrize(
    ("toleration", "code", "part"),
    [
        (Toleration(), "GP-2185", "operator"),
        (Toleration(key="a", operator="Exists", value="x"), "GP-2186", "value"),
        (Toleration(key="a", toleration_seconds=60), "GP-2187", "toleration_seconds"),
        (
            Toleration(key="a", effect="NoSchedule", toleration_seconds=60),
            "GP-2187",
            "toleration_seconds",
        ),
    ],
)
def test_tolerations_make_sense(toleration, code, part):
    made = with_flavor(tolerations=(toleration,))
    assert found(made) == [(code, f"flavors[a100].tolerations[0].{part}")]


@pytest.mark.parametrize(
    "toleration",
    [
        Toleration(operator="Exists"),
        Toleration(key="a", value="x"),
        Toleration(key="a", effect="NoExecute", toleration_seconds=0),
    ],
)
def test_good_tolerations_pass(toleration):
    assert found(with_flavor(tolerations=(toleration,))) == []


@pytest.mark.parametrize(
    ("values", "code", "part"),
    [
        ({"device_kind": DeviceKind.MIG}, "GP-2191", "mig_profile"),
        ({"mig_profile": "1g.10gb"}, "GP-2191", "mig_profile"),
    ],
)
def test_a_mig_flavor_has_a_profile_and_no_other_has(values, code, part):
    assert found(with_flavor(**values)) == [(code, f"flavors[a100].{part}")]


def test_a_profile_fits_its_resource():
    values = {"device_kind": DeviceKind.MIG, "mig_profile": "2g.20gb", "resource": MIG}
    made = replace(with_flavor(**values), tenants=())
    assert found(made) == [("GP-2192", "flavors[a100].mig_profile")]
    assert "nvidia.com/mig-2g.20gb" in check(made)[0].message


@pytest.mark.parametrize("resource", [MIG, GPU, "amd.com/gpu"])
def test_a_profile_may_be_offered_under_several_names(resource):
    values = {"device_kind": DeviceKind.MIG, "mig_profile": "1g.10gb", "resource": resource}
    assert found(replace(with_flavor(**values), tenants=())) == []


def test_ratios_and_capacity_need_devices():
    made = replace(with_flavor(resource="", capacity=4), tenants=())
    assert [code for code, _field in found(made)] == ["GP-2193"] * 3


@pytest.mark.parametrize(
    ("levels", "code"),
    [
        ((), "GP-2190"),
        (tuple(f"l{i}" for i in range(17)), "GP-2190"),
        (("a", "b", "a"), "GP-2189"),
        (("kubernetes.io/hostname", "a"), "GP-2188"),
    ],
)
def test_levels_of_a_topology(levels, code):
    made = catalog(topologies=(TopologySpec(name="t", levels=levels),))
    assert found(made) == [(code, "topologies[t].levels")]


def test_sixteen_levels_with_the_host_last_are_fine():
    levels = (*(f"l{i}" for i in range(15)), "kubernetes.io/hostname")
    assert found(catalog(topologies=(TopologySpec(name="t", levels=levels),))) == []
