"""The last look at objects before they go out."""

import copy

import pytest
from hypothesis import given

from kube.examples import example
from kube.manifest import Manifest
from kube.render import render
from kube.rules import check_manifest, check_manifests
from tests.kube.strategies import catalogs

BODIES = {each.kind: each.body for each in render(example("complete"))}


def changed(kind, **spec):
    body = copy.deepcopy(dict(BODIES[kind]))
    body["spec"] = {**body["spec"], **spec}
    return [each.code for each in check_manifest(Manifest.of(body))]


@given(catalogs())
def test_rendered_objects_pass(made):
    assert check_manifests(render(made)) == ()


@pytest.mark.parametrize("selector", [{}, None, {"matchLabels": {}}, {"matchExpressions": []}, "x"])
def test_a_queue_must_not_take_every_namespace_or_none(selector):
    assert changed("ClusterQueue", namespaceSelector=selector) == ["GP-2200"]


@pytest.mark.parametrize("kind", sorted(BODIES))
def test_every_object_needs_its_name(kind):
    body = copy.deepcopy(dict(BODIES[kind]))
    del body["metadata"]["name"]
    assert [each.code for each in check_manifest(Manifest.of(body))] == ["GP-2207"]


def test_an_entry_needs_its_namespace():
    body = copy.deepcopy(dict(BODIES["LocalQueue"]))
    name = body["metadata"]["name"]
    del body["metadata"]["namespace"]
    (found,) = check_manifest(Manifest.of(body))
    assert (found.code, found.field) == ("GP-2207", f"LocalQueue/{name}: metadata.namespace")


@pytest.mark.parametrize("kind", sorted(set(BODIES) - {"LocalQueue"}))
def test_what_belongs_to_the_cluster_has_no_namespace(kind):
    body = copy.deepcopy(dict(BODIES[kind]))
    body["metadata"]["namespace"] = "nlp"
    assert [each.code for each in check_manifest(Manifest.of(body))] == ["GP-2208"]


def test_expressions_select_namespaces_too():
    selector = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    assert changed("ClusterQueue", namespaceSelector=selector) == []


@pytest.mark.parametrize(
    "name",
    ["stopPolicy", "queueingStrategy", "preemption", "flavorFungibility", "namespaceSelector"],
)
def test_every_policy_is_written(name):
    body = copy.deepcopy(dict(BODIES["ClusterQueue"]))
    del body["spec"][name]
    problems = check_manifest(Manifest.of(body))
    assert [(each.code, dict(each.params)["field"]) for each in problems] == [("GP-2203", name)]


@pytest.mark.parametrize("kind", ["ClusterQueue", "Cohort"])
def test_every_flavor_lists_all_covered_resources_in_order(kind):
    groups = copy.deepcopy(BODIES["ClusterQueue"]["spec"]["resourceGroups"])
    assert changed(kind, resourceGroups=groups) == []
    groups[0]["flavors"][0]["resources"].reverse()
    assert changed(kind, resourceGroups=groups) == ["GP-2202"]
    del groups[0]["flavors"][0]["resources"][1:]
    assert changed(kind, resourceGroups=groups) == ["GP-2202"]


@pytest.mark.parametrize("groups", ["x", 5, [], {}, [None], [{"coveredResources": ["cpu"]}]])
@pytest.mark.parametrize("kind", ["ClusterQueue", "Cohort"])
def test_groups_have_the_shape_of_the_api(kind, groups):
    assert changed(kind, resourceGroups=groups) == ["GP-2206"]


def test_an_object_without_groups_has_nothing_to_check_in_them():
    assert changed("Cohort", resourceGroups=None) == []


def test_a_cohort_has_a_spec():
    body = {**BODIES["Cohort"], "spec": {}}
    assert [each.code for each in check_manifest(Manifest.of(body))] == ["GP-2204"]
    body["spec"] = None
    assert [each.code for each in check_manifest(Manifest.of(body))] == ["GP-2204"]


@pytest.mark.parametrize("name", ["clusterQueue", "stopPolicy"])
def test_an_entry_names_its_queue_and_policy(name):
    assert changed("LocalQueue", **{name: ""}) == ["GP-2203"]


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        ("ClusterQueue", "kueue.x-k8s.io/v1beta1"),
        ("ClusterRoleBinding", "rbac.authorization.k8s.io/v1"),
        ("clusterqueue", "kueue.x-k8s.io/v1beta2"),
        ("", ""),
    ],
)
def test_only_known_kinds_and_versions_go_out(kind, version):
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}}
    assert [each.code for each in check_manifest(Manifest.of(body))] == ["GP-2201"]


def test_no_object_occurs_twice():
    one = Manifest.of(BODIES["Topology"])
    problems = check_manifests([one, one])
    assert [(each.code, each.field) for each in problems] == [("GP-2205", "Topology/blocks")]


def test_names_of_objects_are_read_carefully():
    assert Manifest.of({"kind": "X", "metadata": []}).ref == ("X", "", "")
    assert (
        str(Manifest.of({"kind": "X", "metadata": {"name": "a", "namespace": "n"}}).ref) == "X/n/a"
    )
