"""Differences: by meaning, in owned fields only, and complete enough to get to the target."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube import keys
from kube.catalog import CohortSpec, Taint
from kube.diff import Change, diff, diff_lists, owned, owned_digest
from kube.examples import example
from kube.leaves import GroupNames, leaves
from kube.render import render
from tests.kube.make import GPU, MIG, catalog, lines, queue, tenant, with_flavor, with_queue
from tests.kube.strategies import catalogs

LINE = f"spec.resourceGroups[{GPU}].flavors[a100].resources"


def body(made, kind="ClusterQueue"):
    found = next(each.body for each in render(made) if each.kind == kind)
    return copy.deepcopy(dict(found))


def served(wanted):
    """Return an object as the API server gives it back: with defaults, status and metadata."""
    live = copy.deepcopy(dict(wanted))
    live["metadata"] |= {
        "uid": "1",
        "resourceVersion": "7",
        "generation": 1,
        "creationTimestamp": "2026-11-29T00:00:00Z",
        "finalizers": ["kueue.x-k8s.io/resource-in-use"],
        "managedFields": [{"manager": "gpuportal-quota"}],
    }
    live["metadata"]["labels"] = {**live["metadata"]["labels"], "kubernetes.io/metadata.name": "x"}
    notes = {keys.REVISION: "7", keys.PLAN: "abc", "kubectl.kubernetes.io/restarted": "x"}
    live["metadata"]["annotations"] = {**live["metadata"].get("annotations", {}), **notes}
    live["status"] = {"conditions": [{"type": "Active", "status": "True"}]}
    return live


def shown(changes):
    return [(each.path, each.before, each.after, each.kind) for each in changes]


def targets(wanted):
    names = GroupNames.of(wanted)
    return {path: leaf.meaning for path, leaf in leaves(wanted, names).items()}


def patched(live, wanted):
    """Carry out the changes on the owned fields."""
    fields = dict(owned(live, wanted) or {})
    written = targets(wanted)
    for change in diff(live, wanted):
        fields.pop(change.path, None)
        fields |= {change.path: written[change.path]} if change.kind != "remove" else {}
    return fields


EXAMPLE = render(example("complete"))
KINDS = ("ClusterQueue", "Cohort", "ResourceFlavor", "LocalQueue")


@st.composite
def pairs(draw):
    """Make two objects of one kind: generated, from the example, or one changed in places."""
    kind = draw(st.sampled_from(KINDS))
    found = [each.body for each in (*render(draw(catalogs())), *EXAMPLE) if each.kind == kind]
    one, other = draw(st.sampled_from(found)), draw(st.sampled_from(found))
    mixed = {**one, "spec": {**one["spec"], **draw(parts_of(other["spec"]))}}
    return draw(st.permutations([one, mixed]))


def parts_of(spec):
    """Take some of the fields of a spec."""
    names = st.lists(st.sampled_from(sorted(spec)), unique=True) if spec else st.just([])
    return names.map(lambda chosen: {name: spec[name] for name in chosen})


@given(catalogs())
def test_an_object_does_not_differ_from_itself(made):
    assert [diff(each.body, each.body) for each in render(made) if diff(each.body, each.body)] == []


@given(catalogs())
def test_what_the_server_adds_is_no_difference(made):
    assert [diff(served(each.body), each.body) for each in render(made)] == [()] * len(render(made))


@given(pairs())
def test_no_difference_means_equal_owned_fields_and_the_other_way_round(pair):
    live, wanted = pair
    assert (diff(live, wanted) == ()) == (owned(live, wanted) == owned(wanted, wanted))


@given(pairs())
def test_carrying_out_the_changes_reaches_the_target(pair):
    live, wanted = pair
    assert patched(live, wanted) == targets(wanted)


@given(pairs())
def test_a_new_object_is_all_additions(pair):
    wanted, _other = pair
    changes = diff(None, wanted)
    assert {each.kind for each in changes} == {"add"}
    assert {each.path for each in changes} == set(targets(wanted))
    assert patched(None, wanted) == targets(wanted)


@given(pairs())
def test_digests_differ_exactly_when_owned_fields_do(pair):
    live, wanted = pair
    same = owned(live, wanted) == owned(wanted, wanted)
    assert (owned_digest(live, wanted) == owned_digest(wanted, wanted)) == same


def test_shows_a_changed_number_by_flavor_and_resource():
    live, wanted = body(with_queue(quotas=lines(8))), body(with_queue(quotas=lines(10)))
    assert shown(diff(live, wanted)) == [
        (f"{LINE}[cpu].nominalQuota", "96", "120", "change"),
        (f"{LINE}[memory].nominalQuota", "1Ti", "1280Gi", "change"),
        (f"{LINE}[{GPU}].nominalQuota", "8", "10", "change"),
    ]


def test_a_limit_that_goes_is_a_removal_and_one_that_comes_an_addition():
    without, with_limit = body(catalog()), body(with_queue(quotas=lines(8, borrowing_limit=0)))
    path = f"{LINE}[{GPU}].borrowingLimit"
    assert (path, "0", None, "remove") in shown(diff(with_limit, without))
    assert (path, None, "0", "add") in shown(diff(without, with_limit))


def respelled(nominal):
    live = body(catalog())
    line = live["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    for each, text in zip(line, nominal, strict=True):
        each["nominalQuota"] = text
    return live


@pytest.mark.parametrize(
    "nominal",
    [
        ("96", "1Ti", "8"),
        ("96000m", "1024Gi", "8000m"),
        (96, "1099511627776", 8),
        ("0.096k", "1048576Mi", "8e0"),
        (96.0, 1099511627776, "+8"),
    ],
)
def test_other_spellings_of_a_number_are_no_difference(nominal):
    assert diff(respelled(nominal), body(catalog())) == ()


@pytest.mark.parametrize(
    "nominal",
    [("96", "1T", "8"), ("96", "1Ti", "nonsense"), ("96", "1Ti", None), ("96", "1Ti", [])],
)
def test_other_numbers_are_a_difference(nominal):
    assert len(diff(respelled(nominal), body(catalog()))) == 1


def test_weights_are_compared_by_value():
    live, wanted = body(with_queue(weight="1.5")), body(with_queue(weight="1.5"))
    live["spec"]["fairSharing"]["weight"] = "1.5"
    assert diff(live, wanted) == ()


def test_the_order_of_flavors_is_a_difference():
    one = body(with_queue(quotas=(*lines(1), *lines(1, "h100"))))
    other = body(with_queue(quotas=(*lines(1, "h100"), *lines(1))))
    assert shown(diff(one, other)) == [
        (f"spec.resourceGroups[{GPU}].flavors", ["a100", "h100"], ["h100", "a100"], "change")
    ]


def test_the_order_of_resources_is_none():
    live, wanted = body(catalog()), body(catalog())
    group = live["spec"]["resourceGroups"][0]
    group["coveredResources"].reverse()
    group["flavors"][0]["resources"].reverse()
    assert diff(live, wanted) == ()


def test_a_group_keeps_its_name_when_it_grows():
    grown = body(with_queue(quotas=(*lines(8), *lines(0, "a100", MIG)[2:])))
    changes = diff(body(catalog()), grown)
    name = f"spec.resourceGroups[{GPU}+{MIG}]"
    assert [each.path for each in changes] == [
        f"{name}.coveredResources",
        f"{name}.flavors[a100].resources[{MIG}].nominalQuota",
    ]


def test_a_group_keeps_its_name_when_it_has_only_a_flavor_in_common():
    cpu = body(with_queue(quotas=lines(8)[:1]))
    gpu = body(with_queue(quotas=lines(8)[2:]))
    paths = [each.path for each in diff(cpu, gpu)]
    assert f"{LINE}[cpu].nominalQuota" in paths
    assert all(each.startswith(f"spec.resourceGroups[{GPU}]") for each in paths)


def test_a_group_keeps_its_name_when_it_has_only_a_resource_in_common():
    one = body(with_queue(quotas=lines(8)[:1]))
    other = body(with_queue(quotas=lines(8, "h100")[:1]))
    assert {each.path.partition("]")[0] for each in diff(one, other)} == {"spec.resourceGroups[cpu"}


def test_two_live_groups_that_become_one_stay_apart():
    live = body(catalog())
    group = live["spec"]["resourceGroups"][0]
    live["spec"]["resourceGroups"] = [group, group]
    paths = [each.path for each in diff(live, body(catalog()))]
    assert all(each.startswith(f"spec.resourceGroups[{GPU}#2]") for each in paths)


def test_a_department_that_loses_all_quota_shows_it():
    full = body(catalog(cohorts=(CohortSpec(name="research", quotas=lines(8)),)), "Cohort")
    empty = body(catalog(), "Cohort")
    changes = diff(full, empty)
    assert len(changes) == 5
    assert {each.kind for each in changes} == {"remove"}


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("spec.cohortName", lambda live: live["spec"].update(cohortName="theirs")),
        ("spec.stopPolicy", lambda live: live["spec"].update(stopPolicy="Hold")),
        (
            "spec.namespaceSelector.matchExpressions",
            lambda live: live["spec"]["namespaceSelector"].update(matchExpressions=[{"key": "a"}]),
        ),
        (
            "spec.preemption.borrowWithinCohort.maxPriorityThreshold",
            lambda live: live["spec"]["preemption"]["borrowWithinCohort"].update(
                maxPriorityThreshold=5
            ),
        ),
        (
            "metadata.labels[gpuportal.io/tenant]",
            lambda live: live["metadata"]["labels"].update({keys.TENANT: "cv"}),
        ),
        (
            "metadata.annotations[gpuportal.io/note]",
            lambda live: live["metadata"]["annotations"].update({"gpuportal.io/note": "x"}),
        ),
        ("spec.fairSharing.weight", lambda live: live["spec"].pop("fairSharing")),
    ],
)
def test_a_foreign_hand_on_an_owned_field_is_seen(path, change):
    wanted = body(with_queue(cohort=""))
    live = served(wanted)
    change(live)
    assert [each.path for each in diff(live, wanted)] == [path]
    assert owned_digest(live, wanted) != owned_digest(wanted, wanted)


def test_an_empty_selector_is_not_ours():
    wanted = body(catalog())
    live = served(wanted)
    live["spec"]["namespaceSelector"] = {}
    assert shown(diff(live, wanted)) == [
        ("spec.namespaceSelector.matchLabels[gpuportal.io/tenant]", None, "nlp", "add"),
        ("spec.namespaceSelector", {}, None, "remove"),
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda live: live["spec"]["flavorFungibility"].update(preference="BorrowingOverPreemption"),
        lambda live: live["spec"].update(
            admissionChecksStrategy={"admissionChecks": [{"name": "a"}]}
        ),
        lambda live: live["metadata"]["labels"].update({"team": "x"}),
        lambda live: live["metadata"]["annotations"].update({keys.REVISION: "99"}),
        lambda live: live.update(status={"pendingWorkloads": 4}),
        lambda live: live.update(apiVersion="kueue.x-k8s.io/v1beta1"),
    ],
)
def test_what_others_own_is_no_difference(change):
    wanted = body(catalog())
    live = served(wanted)
    change(live)
    assert diff(live, wanted) == ()
    assert owned_digest(live, wanted) == owned_digest(wanted, wanted)


def test_stamps_are_never_wanted():
    wanted = body(catalog())
    wanted["metadata"]["annotations"][keys.PLAN] = "abc"
    assert diff(body(catalog()), wanted) == ()


def test_taints_and_tolerations_have_no_order():
    wanted = body(example("complete"), "ResourceFlavor")
    live = served(wanted)
    live["spec"]["nodeTaints"] = live["spec"].get("nodeTaints", [])[::-1]
    live["spec"]["tolerations"] = live["spec"].get("tolerations", [])[::-1]
    assert diff(live, wanted) == ()


def test_taints_are_shown_one_by_one():
    live = body(with_flavor(taints=(Taint(key="a"), Taint(key="b", value="x"))), "ResourceFlavor")
    wanted = body(with_flavor(taints=(Taint(key="b", value="y"), Taint(key="c"))), "ResourceFlavor")
    assert [(each.path, each.kind) for each in diff(live, wanted)] == [
        ("spec.nodeTaints[b:NoSchedule]", "change"),
        ("spec.nodeTaints[c:NoSchedule]", "add"),
        ("spec.nodeTaints[a:NoSchedule]", "remove"),
    ]


def test_node_labels_are_owned_as_a_whole():
    wanted = body(catalog(), "ResourceFlavor")
    live = served(wanted)
    live["spec"]["nodeLabels"]["zone"] = "a"
    assert shown(diff(live, wanted)) == [("spec.nodeLabels[zone]", "a", None, "remove")]


def test_levels_are_compared_in_order():
    wanted = body(example("complete"), "Topology")
    live = served(wanted)
    live["spec"]["levels"] = live["spec"]["levels"][::-1]
    (change,) = diff(live, wanted)
    assert change.path == "spec.levels"
    assert change.before == change.after[::-1]


def test_a_description_that_goes_is_seen():
    wanted = body(catalog(), "WorkloadPriorityClass")
    live = served(wanted)
    del wanted["description"]
    assert shown(diff(live, wanted)) == [("description", "Everyday work.", None, "remove")]


def test_an_object_that_goes_is_one_change():
    live = served(body(catalog()))
    (change,) = diff(live, None)
    assert (change.path, change.kind, change.after) == ("", "remove", None)
    assert change.before["spec.stopPolicy"] == "None"
    assert change.ref == ("ClusterQueue", "", "nlp-train")


def test_nothing_and_nothing_do_not_differ():
    assert diff(None, None) == ()


def test_an_object_that_is_gone_owns_nothing():
    wanted = body(catalog())
    assert owned(None, wanted) is None
    assert owned_digest(None, wanted) != owned_digest(wanted, wanted)


def test_owned_fields_are_canonical():
    assert owned(respelled(("96000m", "1024Gi", 8)), body(catalog())) == owned(
        body(catalog()), body(catalog())
    )


def test_lists_are_compared_by_name():
    one, two = body(catalog()), body(catalog(tenants=(tenant(queue("other", cohort="research")),)))
    changes = diff_lists([one], [two])
    assert {each.ref.name for each in changes if each.kind == "add"} == {"other"}
    assert [each for each in changes if each.kind == "remove"] == [
        Change(("ClusterQueue", "", "nlp-train"), "", changes[-1].before, None, "remove")
    ]


@pytest.mark.parametrize(
    "groups",
    [
        "text",
        5,
        [],
        {},
        ["x"],
        [{}],
        [{"coveredResources": "cpu", "flavors": []}],
        [{"coveredResources": [1], "flavors": []}],
        [{"coveredResources": ["cpu"], "flavors": None}],
        [{"coveredResources": ["cpu"], "flavors": [{}]}],
        [{"coveredResources": ["cpu"], "flavors": [{"name": "a"}]}],
        [{"coveredResources": ["cpu"], "flavors": [{"name": "a", "resources": [{"name": 1}]}]}],
    ],
)
def test_strange_groups_are_compared_whole(groups):
    wanted = body(catalog())
    live = served(wanted)
    live["spec"]["resourceGroups"] = groups
    changes = diff(live, wanted)
    assert changes[-1].path == "spec.resourceGroups"
    assert changes[-1].before == groups
    assert diff(live, live) == ()


@pytest.mark.parametrize("strange", [None, [], "x", 5])
def test_strange_objects_are_compared_too(strange):
    wanted = body(catalog())
    live = {"kind": "ClusterQueue", "metadata": strange, "spec": strange}
    assert {each.kind for each in diff(live, wanted)} == {"add"}
    assert diff(wanted, {"kind": "X", "metadata": {"name": "a"}, "spec": strange}) is not None


def test_keys_with_dots_stand_in_brackets():
    wanted = {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a.b": "1", "c": "2"}}
    assert [each.path for each in diff(None, wanted)] == ["data[a.b]", "data.c"]
