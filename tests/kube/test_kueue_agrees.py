"""What the rules let pass, Kueue takes; what Kueue refuses, the rules have refused before."""

from dataclasses import replace

import pytest
from hypothesis import given

from kube.catalog import (
    CohortSpec,
    EntrySpec,
    Preemption,
    PrioritySpec,
    QuotaSpec,
    Taint,
    Toleration,
    TopologySpec,
)
from kube.examples import EXAMPLES, example
from kube.problems import errors
from kube.render import render
from kube.rules import check
from tests.kube.kueue_rules import refusals
from tests.kube.make import (
    GPU,
    MIG,
    catalog,
    flavor,
    lines,
    queue,
    tenant,
    with_flavor,
    with_queue,
)
from tests.kube.strategies import catalogs


def refused_by_kueue(made):
    return [words for each in render(made) for words in refusals(each.body)]


def lines_but(index, **values):
    whole = list(lines(8))
    whole[index] = replace(whole[index], **values)
    return tuple(whole)


@given(catalogs())
def test_kueue_takes_what_the_rules_let_pass(made):
    assert errors(check(made)) == ()
    assert refused_by_kueue(made) == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_kueue_takes_the_examples(name):
    assert refused_by_kueue(example(name)) == []


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (with_queue(cohort="", quotas=lines(8, borrowing_limit=1)), "must be nil when there is no"),
        (with_queue(cohort="", quotas=lines(8, lending_limit=1)), "must be nil when there is no"),
        (with_queue(quotas=lines(8, lending_limit=9)), "lendingLimit above nominalQuota"),
        (with_queue(quotas=lines_but(2, nominal=-1)), "must be greater than or equal to 0"),
        (with_queue(quotas=lines_but(2, borrowing_limit=-1)), "must be greater than or equal to 0"),
        (
            with_queue(quotas=(*lines(8), *lines(1, "h100")[:2])),
            "must match the name in coveredResources",
        ),
        (with_queue(quotas=(*lines(8), lines(1)[2])), "must match the name in coveredResources"),
        (
            with_queue(quotas=(*lines(8), QuotaSpec(flavor="a100", resource="b c", nominal=0))),
            "coveredResources: names",
        ),
        (with_queue(quotas=lines(8, "A100")), "flavors: names"),
        (
            with_queue(preemption=Preemption(borrow_within_cohort="LowerPriority")),
            "reclaimWithinCohort=Never and",
        ),
        (
            with_queue(preemption=Preemption(max_priority_threshold=2**31)),
            "maxPriorityThreshold: int32",
        ),
        (
            catalog(cohorts=(CohortSpec(name="research", quotas=lines(1, borrowing_limit=0)),)),
            "must be nil when there is no",
        ),
        (catalog(cohorts=(CohortSpec(name="Research"),)), "metadata.name"),
        (with_flavor(topology="t", node_labels=()), "at least one nodeLabel is required"),
        (with_flavor(node_labels=tuple((f"k{i}", "v") for i in range(9))), "too many labels"),
        (with_flavor(node_labels=(("a b", "v"),)), "label key"),
        (with_flavor(node_labels=(("a", "b c!"),)), "label value"),
        (with_flavor(taints=(Taint(key="a"), Taint(key="a", value="x"))), "taints must be unique"),
        (with_flavor(taints=tuple(Taint(key=f"k{i}") for i in range(9))), "too many taints"),
        (with_flavor(taints=(Taint(key="a b"),)), "taint key"),
        (with_flavor(tolerations=(Toleration(),)), "toleration operator must be Exists"),
        (
            with_flavor(tolerations=(Toleration(key="a", operator="Exists", value="x"),)),
            "toleration a value must be empty",
        ),
        (
            with_flavor(tolerations=(Toleration(key="a", toleration_seconds=1),)),
            "toleration effect must be NoExecute",
        ),
        (
            with_flavor(tolerations=tuple(Toleration(key=f"k{i}") for i in range(9))),
            "too many tolerations",
        ),
        (catalog(topologies=(TopologySpec(name="t", levels=()),)), "levels: 1 to 16"),
        (
            catalog(topologies=(TopologySpec(name="t", levels=("a", "a")),)),
            "levels: must be unique",
        ),
        (
            catalog(topologies=(TopologySpec(name="t", levels=("kubernetes.io/hostname", "a")),)),
            "levels: hostname only",
        ),
        (catalog(topologies=(TopologySpec(name="t", levels=("a b",)),)), "levels: label keys"),
        (catalog(priorities=(PrioritySpec(name="p", value=2**31),)), "value: int32"),
        (
            catalog(priorities=(PrioritySpec(name="p", value=1, contract="x" * 2049),)),
            "description: too long",
        ),
        (with_queue(entries=(EntrySpec(namespace="a.b", name="x"),)), "metadata.namespace"),
        (catalog(tenants=(tenant(queue(cohort="research"), slug="x" * 64),)), "metadata.labels"),
        (catalog(tenants=(tenant(queue("A", cohort="research")),)), "clusterQueue"),
    ],
)
def test_the_rules_refuse_before_kueue_does(made, words):
    assert any(each.startswith(words) or words in each for each in refused_by_kueue(made))
    assert errors(check(made))


def test_the_rules_refuse_too_many_groups_before_kueue_does():
    quotas = tuple(
        QuotaSpec(flavor=f"f{i}", resource=f"example.com/r{i}", nominal=0) for i in range(17)
    )
    made = with_queue(quotas=quotas)
    assert "resourceGroups: too many" in refused_by_kueue(made)
    assert errors(check(made))


def test_the_rules_refuse_too_many_flavors_before_kueue_does():
    made = with_queue(quotas=tuple(each for i in range(65) for each in lines(1, f"f{i}")))
    assert "flavors: too many" in refused_by_kueue(made)
    assert "GP-2170" in [each.code for each in errors(check(made))]


def test_the_rules_refuse_too_many_pairs_before_kueue_does():
    quotas = tuple(
        QuotaSpec(flavor=f"f{i}", resource=f"example.com/r{j}", nominal=0)
        for i in range(10)
        for j in range(65)
    )
    found = refused_by_kueue(with_queue(quotas=quotas))
    assert {"pairs: too many", "resources: too many"} <= set(found)
    assert [each.code for each in errors(check(with_queue(quotas=quotas)))].count("GP-2170") == 2


def test_a_mixed_queue_with_zero_lines_is_taken():
    fill = (
        QuotaSpec(flavor="a100", resource=MIG, nominal=0),
        QuotaSpec(flavor="mig", resource=GPU, nominal=0),
    )
    made = with_queue(quotas=(*lines(8), *lines(7, "mig", MIG), *fill))
    assert refused_by_kueue(replace(made, flavors=(flavor(),))) == []
