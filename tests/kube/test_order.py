"""The order of an apply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.catalog import CohortSpec
from kube.examples import example
from kube.manifest import Manifest
from kube.order import WAVES, in_order, waves
from kube.render import render
from tests.kube.make import catalog
from tests.kube.strategies import catalogs


def needs(manifest):
    """Name what must be there before an object, as kind and name."""
    spec = manifest.body.get("spec", {})
    flavors = [
        each["name"] for group in spec.get("resourceGroups", ()) for each in group["flavors"]
    ]
    named = [
        ("Namespace", manifest.namespace),
        ("Topology", spec.get("topologyName")),
        ("Cohort", spec.get("parentName")),
        ("Cohort", spec.get("cohortName")),
        ("ClusterQueue", spec.get("clusterQueue")),
        *(("ResourceFlavor", each) for each in flavors),
    ]
    return {pair for pair in named if pair[1]}


@given(catalogs())
def test_what_is_named_comes_in_an_earlier_wave(made):
    seen = set()
    for wave in waves(render(made)):
        assert all(needs(each) <= seen for each in wave)
        seen |= {(each.kind, each.name) for each in wave}


@given(catalogs(), st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_input(made, chance):
    manifests = render(made)
    assert in_order(chance.sample(manifests, len(manifests))) == manifests


def test_kinds_come_in_the_order_of_the_table():
    kinds = list(dict.fromkeys(each.kind for each in render(example("complete"))))
    assert kinds == list(WAVES)


def test_parents_are_a_wave_before_their_children():
    tree = (
        CohortSpec(name="a", parent="b"),
        CohortSpec(name="b", parent="c"),
        CohortSpec(name="c"),
        CohortSpec(name="research", parent="c"),
    )
    names = [
        [each.name for each in wave]
        for wave in waves(render(catalog(cohorts=tree)))
        if wave[0].kind == "Cohort"
    ]
    assert names == [["c"], ["b", "research"], ["a"]]


@pytest.mark.parametrize("parents", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "gone"}])
def test_circles_and_unknown_parents_do_not_hang(parents):
    manifests = [
        Manifest.of({"kind": "Cohort", "metadata": {"name": name}, "spec": {"parentName": above}})
        for name, above in parents.items()
    ]
    assert [each.name for each in in_order(manifests)] == sorted(parents)


def test_unknown_kinds_come_last():
    manifests = [
        Manifest.of({"kind": kind, "metadata": {"name": "x"}}) for kind in ("Zoo", "LocalQueue")
    ]
    assert [each.kind for each in in_order(manifests)] == ["LocalQueue", "Zoo"]


def test_nothing_has_no_waves():
    assert waves([]) == ()
