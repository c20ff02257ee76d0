"""Every rule of a catalog: what is refused, at which field, and what may pass."""

from dataclasses import replace

import pytest
from hypothesis import given

from kube.catalog import (
    Catalog,
    CohortSpec,
    EntrySpec,
    Preemption,
    PrioritySpec,
    Taint,
    Toleration,
    TopologySpec,
)
from kube.examples import EXAMPLES, example
from kube.problems import errors
from kube.rules import check
from tests.kube.make import (
    GPU,
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


def line(**values):
    return replace(lines(8)[2], **values)


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
    assert "the tenants nlp and cv both have an entry" in check(made)[0].message


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


@pytest.mark.parametrize("name", ["preemptions_per_day", "longest_wait_hours"])
def test_the_bounds_of_a_contract_are_numbers_that_can_be_watched(name):
    made = [PrioritySpec(name="p", value=1, **{name: each}) for each in (0, -1, 100_000)]
    wrong = [found(catalog(priorities=(each,))) for each in made]
    assert wrong == [[("GP-2177", f"priorities[p].{name}")]] * 3
    assert found(catalog(priorities=(PrioritySpec(name="p", value=1, **{name: 24}),))) == []


def test_thresholds_fit_32_bits():
    contract = Preemption(
        reclaim_within_cohort="Any",
        borrow_within_cohort="LowerPriority",
        max_priority_threshold=2**31,
    )
    where = f"{QUEUE}.preemption.max_priority_threshold"
    assert found(with_queue(preemption=contract)) == [("GP-2175", where)]
