"""Every rule of a catalog: what is refused, at which field, and what may pass."""

from dataclasses import replace

import pytest
from hypothesis import given

from kube.catalog import (
    Catalog,
    CohortSpec,
    DeviceKind,
    EntrySpec,
    Preemption,
    PrioritySpec,
    QuotaSpec,
    Taint,
    Toleration,
    TopologySpec,
)
from kube.examples import EXAMPLES, example
from kube.problems import errors, warnings
from kube.rules import check
from tests.kube.make import (
    GI,
    GPU,
    MIG,
    catalog,
    flavor,
    found,
    lines,
    queue,
    tenant,
    with_flavor,
    with_queue,
)
from tests.kube.strategies import catalogs

QUEUE = "tenants[nlp].queues[nlp-train]"
LINE = f"{QUEUE}.quotas[a100/nvidia.com/gpu]"


def line(**values):
    return replace(lines(8)[2], **values)


def text_of(problems, code):
    return next(each.message for each in problems if each.code == code)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_have_no_problem_at_all(name):
    assert check(example(name)) == ()


def test_an_empty_catalog_has_no_problem():
    assert check(Catalog()) == ()


@given(catalogs())
def test_generated_catalogs_have_no_error(made):
    assert errors(check(made)) == ()


# Names and texts


@pytest.mark.parametrize(
    ("made", "code", "field"),
    [
        (
            catalog(topologies=(TopologySpec(name="T", levels=("a",)),)),
            "GP-2133",
            "topologies[T].name",
        ),
        (
            catalog(topologies=(TopologySpec(name="t", levels=("a b",)),)),
            "GP-2137",
            "topologies[t].levels[0]",
        ),
        (with_flavor(capability=""), "GP-2141", "flavors[a100].capability"),
        (with_flavor(model="a\nb"), "GP-2142", "flavors[a100].model"),
        (with_flavor(rack="e\u0301"), "GP-2144", "flavors[a100].rack"),
        (with_flavor(node_labels=(("a b", "x"),)), "GP-2137", "flavors[a100].node_labels"),
        (with_flavor(node_labels=(("a", "b c!"),)), "GP-2139", "flavors[a100].node_labels[a]"),
        (with_flavor(taints=(Taint(key=""),)), "GP-2137", "flavors[a100].taints[0].key"),
        (
            with_flavor(taints=(Taint(key="a", value="b c"),)),
            "GP-2139",
            "flavors[a100].taints[0].value",
        ),
        (
            with_flavor(tolerations=(Toleration(key="a b"),)),
            "GP-2137",
            "flavors[a100].tolerations[0].key",
        ),
        (
            with_flavor(tolerations=(Toleration(key="a", value="-"),)),
            "GP-2139",
            "flavors[a100].tolerations[0].value",
        ),
        (
            catalog(cohorts=(CohortSpec(name="research"), CohortSpec(name="A"))),
            "GP-2133",
            "cohorts[A].name",
        ),
        (
            catalog(cohorts=(CohortSpec(name="research", display_name="\u200b"),)),
            "GP-2142",
            "cohorts[research].display_name",
        ),
        (catalog(tenants=(tenant(slug="Team-A"),)), "GP-2130", "tenants[Team-A].slug"),
        (catalog(tenants=(tenant(slug="admin"),)), "GP-2135", "tenants[admin].slug"),
        (
            catalog(tenants=(replace(tenant(), display_name=" "),)),
            "GP-2141",
            "tenants[nlp].display_name",
        ),
        (
            catalog(tenants=(tenant(cost_centre="x" * 201),)),
            "GP-2143",
            "tenants[nlp].cost_centre",
        ),
        (
            catalog(tenants=(tenant(queue("a.b", cohort="research", entries=())),)),
            "GP-2132",
            "tenants[nlp].queues[a.b].name",
        ),
        (
            catalog(tenants=(tenant(queue("x" * 64, cohort="research", entries=())),)),
            "GP-2131",
            f"tenants[nlp].queues[{'x' * 64}].name",
        ),
        (
            with_queue(entries=(EntrySpec(namespace="kube-system", name="a"),)),
            "GP-2134",
            f"{QUEUE}.entries[kube-system/a].namespace",
        ),
        (
            with_queue(entries=(EntrySpec(namespace="nlp", name="x" * 64),)),
            "GP-2131",
            f"{QUEUE}.entries[nlp/{'x' * 64}].name",
        ),
        (
            with_queue(entries=(EntrySpec(namespace="nlp", name="a.b"),)),
            "GP-2132",
            f"{QUEUE}.entries[nlp/a.b].name",
        ),
        (
            catalog(priorities=(PrioritySpec(name="x" * 64, value=1),)),
            "GP-2131",
            f"priorities[{'x' * 64}].name",
        ),
        (
            catalog(priorities=(PrioritySpec(name="p", value=1, contract="x" * 2001),)),
            "GP-2143",
            "priorities[p].contract",
        ),
    ],
)
def test_names_and_texts_are_checked_by_their_own_rules(made, code, field):
    assert found(made) == [(code, field)]


def test_the_resource_of_a_flavor_needs_a_domain():
    assert ("GP-2140", "flavors[a100].resource") in found(with_flavor(resource="gpu"))


def test_the_resource_of_a_line_needs_a_domain():
    made = with_queue(quotas=(*lines(8), line(resource="gpu", nominal=0)))
    assert found(made) == [("GP-2140", f"{QUEUE}.quotas[a100/gpu].resource")]


@pytest.mark.parametrize(
    ("made", "field"),
    [
        (catalog(topologies=(TopologySpec(name="t", levels=("a",)),) * 2), "topologies[t]"),
        (catalog(cohorts=(CohortSpec(name="research"),) * 2), "cohorts[research]"),
        (catalog(priorities=(PrioritySpec(name="p", value=1),) * 2), "priorities[p]"),
        (catalog(tenants=(tenant(), tenant())), "tenants[nlp]"),
        (
            catalog(
                tenants=(
                    tenant(queue(cohort="research")),
                    tenant(queue(cohort="research", entries=()), slug="cv"),
                )
            ),
            "tenants[cv].queues[nlp-train]",
        ),
        (
            with_queue(entries=(EntrySpec(namespace="nlp", name="a"),) * 2),
            f"{QUEUE}.entries[nlp/a]",
        ),
    ],
)
def test_nothing_is_defined_twice(made, field):
    assert found(made) == [("GP-2150", field)]


def test_a_flavor_defined_twice_is_refused():
    assert ("GP-2150", "flavors[a100]") in found(catalog(flavors=(flavor(), flavor())))


def test_one_entry_name_may_be_used_in_two_namespaces():
    entries = (EntrySpec(namespace="nlp", name="a"), EntrySpec(namespace="nlp-lab", name="a"))
    assert found(with_queue(entries=entries)) == []


def test_two_priorities_may_have_the_same_value():
    same = (PrioritySpec(name="a", value=1), PrioritySpec(name="b", value=1))
    assert found(catalog(priorities=same)) == []


def test_warns_of_names_that_catch_every_job():
    made = with_queue(entries=(EntrySpec(namespace="nlp", name="default"),))
    made = replace(made, priorities=(PrioritySpec(name="default", value=1),))
    assert found(made) == [
        ("GP-2155", f"{QUEUE}.entries[nlp/default].name"),
        ("GP-2155", "priorities[default].name"),
    ]
    assert errors(check(made)) == ()


def test_warns_of_names_that_look_like_another():
    made = catalog(
        cohorts=(CohortSpec(name="research", display_name="Rese\u0430rch"),),
        tenants=(replace(tenant(), display_name="The te\u0430m"),),
    )
    assert found(made) == [
        ("GP-2145", "tenants[nlp].display_name"),
        ("GP-2145", "cohorts[research].display_name"),
    ]
    assert errors(check(made)) == ()


# References


@pytest.mark.parametrize(
    ("made", "field", "words"),
    [
        (with_flavor(topology="t"), "flavors[a100].topology", "no topology named t"),
        (with_queue(cohort="nope"), f"{QUEUE}.cohort", "no department named nope"),
        (
            catalog(cohorts=(CohortSpec(name="research", parent="nope"),)),
            "cohorts[research].parent",
            "no department named nope",
        ),
    ],
)
def test_what_is_named_must_exist(made, field, words):
    assert found(made) == [("GP-2151", field)]
    assert words in check(made)[0].message


def test_flavors_of_quota_lines_must_exist():
    made = with_queue(quotas=(*lines(8), *lines(0, "h100")))
    assert found(made) == [
        ("GP-2151", f"{QUEUE}.quotas[h100/{each}].flavor") for each in ("cpu", "memory", GPU)
    ]


def test_a_department_is_not_its_own_parent():
    made = catalog(cohorts=(CohortSpec(name="research", parent="research"),))
    assert found(made) == [("GP-2154", "cohorts[research].parent")]


def test_departments_form_no_circle_of_three():
    made = catalog(
        cohorts=(
            CohortSpec(name="research", parent="b"),
            CohortSpec(name="b", parent="c"),
            CohortSpec(name="c", parent="research"),
            CohortSpec(name="below", parent="c"),
        )
    )
    assert found(made) == [
        ("GP-2153", f"cohorts[{name}].parent") for name in ("research", "b", "c")
    ]
    assert "research > b > c > research" in check(made)[0].message


def test_a_deep_tree_is_fine():
    tree = tuple(CohortSpec(name=f"c{i}", parent=f"c{i + 1}" if i < 50 else "") for i in range(51))
    assert found(catalog(cohorts=(CohortSpec(name="research"), *tree))) == []


def test_a_namespace_belongs_to_one_tenant():
    other = queue("cv-train", cohort="research", entries=(EntrySpec(namespace="nlp", name="x"),))
    made = catalog(tenants=(tenant(queue(cohort="research")), tenant(other, slug="cv")))
    assert found(made) == [("GP-2152", "tenants[cv].queues[cv-train].entries[nlp/x].namespace")]
    assert "belongs to the tenant nlp already" in check(made)[0].message


# Flavors and topologies


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


# Quota lines


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"nominal": -1}, "GP-2113"),
        ({"borrowing_limit": -1}, "GP-2113"),
        ({"borrowing_limit": 10_000_000}, "GP-2114"),
    ],
)
def test_numbers_are_in_range(values, code):
    made = with_queue(quotas=(*lines(8)[:2], line(**values)))
    assert (code, f"{LINE}.{next(iter(values))}") in found(made)


def test_memory_comes_in_whole_kibibytes():
    cpu, memory, device = lines(8)
    made = with_queue(quotas=(cpu, replace(memory, nominal=1000), device))
    assert ("GP-2121", f"{QUEUE}.quotas[a100/memory].nominal") in found(made)


@pytest.mark.parametrize(
    ("values", "code", "part"),
    [
        ({"cpu_per_device": -1}, "GP-2113", "cpu_per_device"),
        ({"memory_per_device": 1000}, "GP-2121", "memory_per_device"),
        ({"capacity": 10_000_000}, "GP-2114", "capacity"),
    ],
)
def test_sizes_of_flavors_are_in_range(values, code, part):
    made = replace(with_flavor(**values), tenants=())
    assert found(made) == [(code, f"flavors[a100].{part}")]


def test_limits_need_a_department():
    made = with_queue(cohort="", quotas=lines(8, borrowing_limit=4, lending_limit=4))
    resources = ("cpu", "memory", GPU)
    assert found(made) == [
        (code, f"{QUEUE}.quotas[a100/{each}].{part}")
        for each in resources
        for code, part in (("GP-2164", "borrowing_limit"), ("GP-2165", "lending_limit"))
    ]
    assert "no department to borrow from" in check(made)[0].message


def test_limits_of_a_department_need_a_parent():
    made = catalog(cohorts=(CohortSpec(name="research", quotas=lines(8, borrowing_limit=0)),))
    assert [code for code, _field in found(made)] == ["GP-2164"] * 3
    assert "no parent to borrow from" in check(made)[0].message


@pytest.mark.parametrize("above", ["queue", "cohort"])
def test_nobody_lends_more_than_there_is(above):
    quotas = lines(8, lending_limit=9)
    parts = {
        "queue": with_queue(quotas=quotas),
        "cohort": catalog(
            cohorts=(
                CohortSpec(name="research"),
                CohortSpec(name="team", parent="research", quotas=quotas),
            )
        ),
    }
    made = parts[above]
    assert [code for code, _field in found(made)] == ["GP-2166"] * 3
    assert "lending_limit 9 is above nominal 8" in check(made)[2].message


def test_lending_everything_or_nothing_is_fine():
    assert found(with_queue(quotas=lines(8, lending_limit=8))) == []
    assert found(with_queue(quotas=lines(8, lending_limit=0, borrowing_limit=0))) == []


def test_a_queue_needs_quota():
    assert found(with_queue(quotas=())) == [("GP-2167", f"{QUEUE}.quotas")]


def test_a_department_needs_none():
    assert found(catalog(cohorts=(CohortSpec(name="research", quotas=()),))) == []


def test_a_line_stands_once():
    made = with_queue(quotas=(*lines(8), line()))
    assert found(made) == [("GP-2160", LINE)]


@pytest.mark.parametrize(
    ("kept", "missing"), [((0, 2), "memory"), ((1, 2), "cpu"), ((2,), "cpu and memory")]
)
def test_devices_need_cpu_and_memory_beside_them(kept, missing):
    made = with_queue(quotas=tuple(lines(8)[index] for index in kept))
    assert found(made) == [("GP-2162", LINE)]
    assert f"no line for {missing}" in check(made)[0].message


def test_cpu_and_memory_alone_are_fine():
    assert found(with_queue(quotas=lines(8)[:2])) == []


def test_flavors_that_share_a_resource_list_the_same():
    mig = flavor("mig", resource=MIG, device_kind=DeviceKind.MIG, mig_profile="1g.10gb")
    quotas = (*lines(8), *lines(7, "mig", MIG))
    made = replace(with_queue(quotas=quotas), flavors=(flavor(), mig))
    assert found(made) == [("GP-2161", f"{QUEUE}.quotas")] * 2
    first = check(made)[0].message
    assert f"a100 lacks {MIG}" in first
    assert "give the flavors queues of their own" in first


def test_zero_lines_complete_a_group_of_two_kinds_of_devices():
    mig = flavor("mig", resource=MIG, device_kind=DeviceKind.MIG, mig_profile="1g.10gb")
    fill = (
        QuotaSpec(flavor="a100", resource=MIG, nominal=0, borrowing_limit=0),
        QuotaSpec(flavor="mig", resource=GPU, nominal=0, borrowing_limit=0),
    )
    quotas = (*lines(8), *lines(7, "mig", MIG), *fill)
    assert found(replace(with_queue(quotas=quotas), flavors=(flavor(), mig))) == []


def test_a_flavor_hands_out_only_its_own_devices():
    quotas = (*lines(8)[:2], QuotaSpec(flavor="a100", resource=MIG, nominal=1))
    made = with_queue(quotas=quotas)
    assert ("GP-2163", f"{QUEUE}.quotas[a100/{MIG}].resource") in found(made)
    assert f"hands out {GPU}, not {MIG}" in text_of(check(made), "GP-2163")


def test_a_flavor_without_devices_hands_out_none():
    made = with_flavor(resource="", cpu_per_device=None, memory_per_device=None)
    assert "hands out no devices" in text_of(check(made), "GP-2163")


def many(count):
    flavors = tuple(flavor(f"f{i}", node_labels=(("f", str(i)),)) for i in range(count))
    quotas = tuple(each for i in range(count) for each in lines(1, f"f{i}"))
    return replace(with_queue(quotas=quotas), flavors=flavors)


def test_warns_above_the_flavors_that_old_releases_can_show():
    assert found(many(16)) == []
    assert found(many(17)) == [("GP-2171", f"{QUEUE}.quotas")]
    assert found(many(17), status_flavors=64) == []
    assert errors(check(many(64))) == ()


def test_refuses_more_flavors_than_kueue_takes():
    assert found(many(65)) == [("GP-2170", f"{QUEUE}.quotas")]
    assert "65 flavors; Kueue takes at most 64" in check(many(65))[0].message


def test_refuses_more_groups_than_kueue_takes():
    flavors = tuple(
        flavor(
            f"f{i}",
            resource="",
            cpu_per_device=None,
            memory_per_device=None,
            node_labels=(("f", str(i)),),
        )
        for i in range(17)
    )
    quotas = tuple(
        QuotaSpec(flavor=f"f{i}", resource=f"example.com/r{i}", nominal=0) for i in range(17)
    )
    made = replace(with_queue(quotas=quotas), flavors=flavors)
    assert "17 resource groups; Kueue takes at most 16" in text_of(check(made), "GP-2170")


def test_refuses_more_pairs_and_resources_than_kueue_takes():
    quotas = tuple(
        QuotaSpec(flavor=f"f{i}", resource=f"example.com/r{j}", nominal=0)
        for i in range(9)
        for j in range(65)
    )
    messages = [each.message for each in check(with_queue(quotas=quotas))]
    assert "65 resources; Kueue takes at most 64" in messages
    assert "585 flavor and resource pairs in one group; Kueue takes at most 512" in messages


# Policies


@pytest.mark.parametrize(
    "weight", ["-1", "", "1e400", "0.3333", "1,5", "1001", "1000.001", "01", "\uff11"]
)
def test_weights_are_small_decimals(weight):
    assert found(with_queue(weight=weight)) == [("GP-2123", f"{QUEUE}.weight")]
    made = catalog(cohorts=(CohortSpec(name="research", weight=weight),))
    assert found(made) == [("GP-2123", "cohorts[research].weight")]


@pytest.mark.parametrize("weight", ["0", "1", "0.333", "1000", "1.5"])
def test_good_weights_pass(weight):
    assert found(with_queue(weight=weight)) == []


def test_stopping_others_to_borrow_needs_taking_back():
    made = with_queue(preemption=Preemption(borrow_within_cohort="LowerPriority"))
    assert found(made) == [("GP-2172", f"{QUEUE}.preemption.borrow_within_cohort")]


def test_a_threshold_needs_stopping_others_to_borrow():
    made = with_queue(preemption=Preemption(max_priority_threshold=5))
    assert found(made) == [("GP-2174", f"{QUEUE}.preemption.max_priority_threshold")]


def test_warns_of_taking_back_without_a_department():
    made = with_queue(cohort="", preemption=Preemption(reclaim_within_cohort="Any"))
    assert found(made) == [("GP-2173", f"{QUEUE}.preemption.reclaim_within_cohort")]
    assert errors(check(made)) == ()


def test_a_whole_preemption_contract_passes():
    contract = Preemption(
        within_cluster_queue="LowerPriority",
        reclaim_within_cohort="Any",
        borrow_within_cohort="LowerPriority",
        max_priority_threshold=100,
    )
    assert found(with_queue(preemption=contract)) == []


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 3_000_000_000])
def test_priorities_fit_32_bits(value):
    made = catalog(priorities=(PrioritySpec(name="p", value=value),))
    assert found(made) == [("GP-2175", "priorities[p].value")]


@pytest.mark.parametrize("value", [2**31 - 1, -(2**31), 0])
def test_the_ends_of_32_bits_are_priorities(value):
    assert found(catalog(priorities=(PrioritySpec(name="p", value=value),))) == []


def test_thresholds_fit_32_bits():
    contract = Preemption(
        reclaim_within_cohort="Any",
        borrow_within_cohort="LowerPriority",
        max_priority_threshold=2**31,
    )
    where = f"{QUEUE}.preemption.max_priority_threshold"
    assert found(with_queue(preemption=contract)) == [("GP-2175", where)]


# Capacity and proportion


def test_promises_fit_the_pool():
    assert found(with_flavor(capacity=8)) == []
    made = with_flavor(capacity=7)
    assert found(made) == [("GP-2176", "flavors[a100]")]
    assert "adds up to 8 devices, the pool has 7: 1 too many" in check(made)[0].message


def test_departments_count_against_the_pool():
    made = catalog(
        flavors=(flavor(capacity=15),), cohorts=(CohortSpec(name="research", quotas=lines(8)),)
    )
    assert found(made) == [("GP-2176", "flavors[a100]")]


def test_a_given_pool_goes_before_the_agreed_capacity():
    assert found(with_flavor(capacity=8), pools={"a100": 4}) == [("GP-2176", "flavors[a100]")]
    assert found(with_flavor(capacity=4), pools={"a100": 8}) == []


def test_an_unknown_pool_is_not_an_empty_one():
    assert found(with_flavor(capacity=4), pools={"a100": None}) == []
    assert found(catalog(), pools={"other": 0}) == []
    assert found(catalog(), pools={"a100": 0}) == [("GP-2176", "flavors[a100]")]


def test_warns_of_cpu_and_memory_out_of_proportion():
    cpu, memory, device = lines(8)
    quotas = (replace(cpu, nominal=1_000), replace(memory, nominal=2048 * GI), device)
    made = with_queue(quotas=quotas)
    assert found(made) == [
        ("GP-2168", f"{QUEUE}.quotas[a100/cpu].nominal"),
        ("GP-2168", f"{QUEUE}.quotas[a100/memory].nominal"),
    ]
    assert check(made)[0].message == (
        "cpu is 1 for 8 devices of a100; in proportion it is 96 (12 per device)"
    )
    assert errors(check(made)) == ()


def test_flavors_without_a_ratio_are_not_judged():
    cpu, memory, device = lines(8)
    made = with_queue(quotas=(replace(cpu, nominal=1_000), memory, device))
    made = replace(made, flavors=(flavor(cpu_per_device=None),))
    assert found(made) == []


def test_warns_of_cpu_that_cannot_be_borrowed_along():
    cpu, memory, device = lines(8, borrowing_limit=4)
    narrow = replace(cpu, borrowing_limit=12_000)
    made = with_queue(quotas=(narrow, memory, device))
    assert found(made) == [("GP-2169", f"{QUEUE}.quotas[a100/cpu].borrowing_limit")]
    assert "it takes 48" in check(made)[0].message


def test_warns_of_limited_cpu_beside_unlimited_devices():
    cpu, memory, device = lines(8, borrowing_limit=4)
    made = with_queue(quotas=(cpu, memory, replace(device, borrowing_limit=None)))
    assert [code for code, _field in found(made)] == ["GP-2169"] * 2
    assert "it takes no limit" in check(made)[0].message


def test_cpu_may_be_borrowed_without_limit():
    device = line(borrowing_limit=4)
    assert found(with_queue(quotas=(*lines(8)[:2], device))) == []


def test_all_problems_are_found_at_once():
    made = catalog(
        flavors=(flavor(model="a\nb", capacity=1),),
        cohorts=(CohortSpec(name="research", parent="research", weight="x"),),
        priorities=(PrioritySpec(name="p", value=2**40),),
    )
    codes = {code for code, _field in found(made)}
    assert codes == {"GP-2142", "GP-2154", "GP-2123", "GP-2175", "GP-2176"}
