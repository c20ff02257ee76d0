"""Edits: their JSON form, and what they make of a catalog."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.catalog import (
    Catalog,
    CohortSpec,
    EntrySpec,
    PrioritySpec,
    QuotaSpec,
    StopPolicy,
    Toleration,
    TopologySpec,
)
from kube.edits import (
    WORDS,
    PutCohort,
    PutFlavor,
    PutPriority,
    PutQueue,
    PutTenant,
    PutTopology,
    Replace,
    SetQuota,
    SetStopPolicy,
    apply,
    dump_edits,
    frozen,
    load_edits,
    missing,
    proportional,
)
from kube.examples import example
from kube.problems import InvalidCatalog
from kube.rules import check
from tests.kube.make import GI, GPU, catalog, flavor, lines, queue, tenant, with_flavor
from tests.kube.strategies import catalogs

QUOTA = SetQuota(queue="nlp-train", flavor="a100", resource=GPU, nominal=12, borrowing_limit=4)
EDITS = (
    QUOTA,
    SetQuota(queue="nlp-train", flavor="a100", resource="cpu", nominal=144_500, lending_limit=0),
    SetStopPolicy(queue="nlp-train", policy=StopPolicy.HOLD),
    PutTopology(topology=TopologySpec(name="t", levels=("example.com/rack",))),
    PutFlavor(flavor=flavor("h100")),
    PutCohort(cohort=CohortSpec(name="lab", parent="research")),
    PutTenant(slug="cv", display_name="Vision", cost_centre="7"),
    PutQueue(tenant="cv", queue=queue("cv-train", entries=(EntrySpec(namespace="cv", name="in"),))),
    PutPriority(priority=PrioritySpec(name="urgent", value=5)),
    Replace(catalog=catalog()),
)


def problems_of(call, *arguments, **options):
    with pytest.raises(InvalidCatalog) as caught:
        call(*arguments, **options)
    return [(each.code, each.field) for each in caught.value.problems]


def line_of(made, resource=GPU):
    _tenant, first = made.queues()[0]
    return next(each for each in first.quotas if each.resource == resource)


# JSON


def test_every_kind_of_edit_has_a_word():
    assert {type(each) for each in EDITS} == set(WORDS.values())


def test_edits_survive_json_text():
    assert load_edits(json.loads(json.dumps(dump_edits(EDITS)))) == EDITS


@given(catalogs())
def test_a_whole_catalog_survives_as_an_edit(made):
    assert load_edits(dump_edits([Replace(catalog=made)])) == (Replace(catalog=made),)


def test_numbers_of_edits_are_written_in_the_unit_of_their_resource():
    device, cpu = dump_edits(EDITS[:2])
    assert (device["edit"], device["nominal"], device["borrowing_limit"]) == ("set_quota", 12, 4)
    assert (cpu["nominal"], cpu["lending_limit"]) == ("144500m", "0")


@pytest.mark.parametrize("data", [None, {}, "text", b"bytes", 5])
def test_edits_are_a_list(data):
    assert problems_of(load_edits, data) == [("GP-2104", "edits")]


@pytest.mark.parametrize(
    "edit", [None, [], "set_quota", {}, {"edit": "drop"}, {"edit": ["x"]}, {"edit": 1}]
)
def test_unknown_edits_are_refused_with_the_known_ones(edit):
    assert problems_of(load_edits, [edit]) == [("GP-2106", "edits[0].edit")]


def test_problems_of_all_edits_are_named_by_their_place():
    data = [
        {"edit": "set_quota", "queue": "q", "flavor": "f", "resource": GPU, "nominal": "8"},
        {"edit": "put_tenant", "slug": "cv", "display_name": "CV", "tenant_id": 7},
        {"edit": "set_stop_policy", "queue": "q", "policy": "hold"},
        {"edit": "put_flavor", "flavor": {"name": "a"}},
    ]
    assert problems_of(load_edits, data) == [
        ("GP-2104", "edits[0].nominal"),
        ("GP-2102", "edits[1].tenant_id"),
        ("GP-2106", "edits[2].policy"),
        ("GP-2103", "edits[3].flavor.capability"),
    ]


def test_the_field_of_the_list_can_be_named():
    assert problems_of(load_edits, [5], "proposal") == [("GP-2106", "proposal[0].edit")]


# Quota and policies


def test_no_edits_change_nothing():
    assert apply(catalog(), ()) == catalog()


def test_a_quota_line_is_replaced_where_it_stands():
    made = apply(catalog(), [QUOTA])
    _tenant, changed = made.queues()[0]
    assert [each.resource for each in changed.quotas] == ["cpu", "memory", GPU]
    assert line_of(made) == QuotaSpec(flavor="a100", resource=GPU, nominal=12, borrowing_limit=4)


def test_a_quota_line_is_added_at_the_end():
    made = apply(catalog(), [replace(QUOTA, flavor="h100")])
    _tenant, changed = made.queues()[0]
    assert len(changed.quotas) == 4
    assert changed.quotas[-1].flavor == "h100"


def test_a_limit_that_is_not_named_is_not_set():
    limited = apply(catalog(), [QUOTA])
    assert line_of(apply(limited, [replace(QUOTA, borrowing_limit=None)])).borrowing_limit is None


def test_other_queues_stay_as_they_are():
    before = example("complete")
    after = apply(before, [SetStopPolicy(queue="search-serve", policy=StopPolicy.HOLD)])
    differing = [
        new.name
        for (_a, old), (_b, new) in zip(before.queues(), after.queues(), strict=True)
        if old != new
    ]
    assert differing == ["search-serve"]


@pytest.mark.parametrize(
    "edit", [replace(QUOTA, queue="nope"), SetStopPolicy(queue="nope", policy=StopPolicy.HOLD)]
)
def test_a_queue_that_is_not_there_is_named(edit):
    assert problems_of(apply, catalog(), [edit]) == [("GP-2151", "queues[nope]")]


def test_edits_are_applied_in_their_order():
    made = apply(catalog(), [QUOTA, replace(QUOTA, nominal=3)])
    assert line_of(made).nominal == 3


def test_the_given_catalog_is_not_changed():
    before = catalog()
    apply(before, [QUOTA])
    assert before == catalog()


# Proportion


def test_devices_bring_their_cpu_and_memory():
    made = apply(catalog(), proportional(catalog(), "nlp-train", "a100", 12))
    assert line_of(made).nominal == 12
    assert line_of(made, "cpu").nominal == 144_000
    assert line_of(made, "memory").nominal == 12 * 128 * GI
    assert check(made) == ()


def test_limits_follow_the_ratio_too():
    edits = proportional(catalog(), "nlp-train", "a100", 8, borrowing_limit=2, lending_limit=0)
    assert [each.borrowing_limit for each in edits] == [24_000, 2 * 128 * GI, 2]
    assert [each.lending_limit for each in edits] == [0, 0, 0]


@given(st.integers(0, 9_999), st.none() | st.integers(0, 9_999))
def test_proportional_edits_never_cause_a_warning(devices, borrowing):
    edits = proportional(catalog(), "nlp-train", "a100", devices, borrowing_limit=borrowing)
    assert check(apply(catalog(), edits)) == ()


@pytest.mark.parametrize(
    "made",
    [
        catalog(flavors=()),
        with_flavor(resource=""),
        with_flavor(cpu_per_device=None),
        with_flavor(memory_per_device=None),
    ],
)
def test_nothing_is_in_proportion_without_devices_and_ratio(made):
    assert problems_of(proportional, made, "nlp-train", "a100", 1) == [("GP-2212", "flavor")]


# Putting


@pytest.mark.parametrize(
    ("edit", "part"),
    [
        (EDITS[3], "topologies"),
        (EDITS[4], "flavors"),
        (EDITS[5], "cohorts"),
        (EDITS[8], "priorities"),
    ],
)
def test_new_things_are_added_at_the_end(edit, part):
    before, after = getattr(catalog(), part), getattr(apply(catalog(), [edit]), part)
    assert after[:-1] == before
    assert after[-1].name == next(iter(getattr(edit, name) for name in edit.__slots__)).name


def test_putting_twice_is_putting_once():
    once = apply(catalog(), EDITS[:-1])
    assert apply(once, EDITS[:-1]) == once


def test_existing_things_are_replaced_in_place():
    urgent = PrioritySpec(name="normal", value=7)
    made = apply(catalog(), [PutPriority(priority=urgent)])
    assert made.priorities == (urgent,)


def test_a_tenant_keeps_its_queues_when_its_names_change():
    made = apply(catalog(), [PutTenant(slug="nlp", display_name="Language", cost_centre="9")])
    (changed,) = made.tenants
    assert (changed.display_name, changed.cost_centre) == ("Language", "9")
    assert changed.queues == catalog().tenants[0].queues


def test_a_new_tenant_has_no_queues_yet():
    made = apply(catalog(), [EDITS[6]])
    assert made.tenants[1].slug == "cv"
    assert made.tenants[1].queues == ()


def test_a_queue_is_added_to_its_tenant():
    made = apply(catalog(), EDITS[6:8])
    assert [each.name for _tenant, each in made.queues()] == ["nlp-train", "cv-train"]


def test_a_queue_is_replaced_in_place():
    changed = queue(cohort="research", weight="2")
    made = apply(catalog(), [PutQueue(tenant="nlp", queue=changed)])
    assert made.queues()[0][1] == changed


def test_a_queue_needs_a_tenant_that_is_there():
    edit = PutQueue(tenant="cv", queue=queue("cv-train"))
    assert problems_of(apply, catalog(), [edit]) == [("GP-2151", "tenants[cv]")]


def test_a_queue_does_not_change_hands():
    made = catalog(tenants=(*catalog().tenants, tenant(slug="cv")))
    edit = PutQueue(tenant="cv", queue=queue())
    assert problems_of(apply, made, [edit]) == [("GP-2211", "tenants[cv].queues[nlp-train]")]


# What Kueue never lets change


def test_levels_of_a_topology_stay():
    made = apply(catalog(), [EDITS[3]])
    other = PutTopology(topology=TopologySpec(name="t", levels=("example.com/block",)))
    assert problems_of(apply, made, [other]) == [("GP-2213", "topologies[t].levels")]
    assert apply(made, [EDITS[3]]) == made


@pytest.mark.parametrize(
    "change",
    [
        {"topology": ""},
        {"topology": "other"},
        {"node_labels": (("a", "b"),)},
        {"tolerations": (Toleration(operator="Exists"),)},
    ],
)
def test_a_flavor_with_a_topology_keeps_what_places_its_pods(change):
    made = with_flavor(topology="t")
    edit = PutFlavor(flavor=replace(made.flavors[0], **change))
    assert problems_of(apply, made, [edit]) == [("GP-2214", "flavors[a100]")]


def test_other_facts_of_such_a_flavor_may_change():
    made = with_flavor(topology="t")
    changed = replace(made.flavors[0], model="NVIDIA A100", capacity=64)
    assert apply(made, [PutFlavor(flavor=changed)]).flavors == (changed,)


def test_a_flavor_may_get_its_first_topology():
    changed = flavor(topology="t", node_labels=(("a", "b"),))
    assert apply(catalog(), [PutFlavor(flavor=changed)]).flavors == (changed,)


def test_an_entry_leads_to_its_queue_for_good():
    moved = queue(
        "other", cohort="research", entries=(EntrySpec(namespace="nlp", name="nlp-train-in"),)
    )
    bare = catalog(tenants=(tenant(queue(cohort="research", entries=()), moved),))
    where = "tenants[nlp].queues[other].entries[nlp/nlp-train-in]"
    assert problems_of(apply, catalog(), [Replace(catalog=bare)]) == [("GP-2215", where)]


def test_an_entry_that_a_queue_leaves_out_is_found_by_comparing():
    bare = PutQueue(tenant="nlp", queue=queue(cohort="research", entries=()))
    (problem,) = missing(catalog(), apply(catalog(), [bare]))
    assert dict(problem.params) == {"kind": "entry", "name": "nlp/nlp-train-in"}


def test_an_import_cannot_change_them_either():
    before = replace(with_flavor(topology="t"), topologies=(TopologySpec(name="t", levels=("a",)),))
    after = replace(
        before,
        topologies=(TopologySpec(name="t", levels=("b",)),),
        flavors=(replace(before.flavors[0], node_labels=(("x", "y"),)),),
    )
    assert [code for code, _field in problems_of(apply, before, [Replace(catalog=after)])] == [
        "GP-2213",
        "GP-2214",
    ]


# Replacing the whole


def test_an_import_may_add_and_change():
    after = catalog(
        flavors=(flavor(), flavor("h100")), priorities=(PrioritySpec(name="normal", value=5),)
    )
    assert apply(catalog(), [Replace(catalog=after)]) == after


def test_an_import_removes_nothing():
    found = missing(example("complete"), Catalog())
    assert {dict(each.params)["kind"] for each in found} == {
        "topology",
        "flavor",
        "department",
        "tenant",
        "queue",
        "entry",
        "priority",
    }
    codes = problems_of(apply, example("complete"), [Replace(catalog=Catalog())])
    assert codes == [("GP-2210", "catalog")] * len(found)


def test_what_would_be_gone_is_named():
    (problem,) = missing(catalog(), catalog(priorities=()))
    assert problem.message.startswith("the priority normal exists and would be gone")


def test_a_queue_may_lose_a_quota_line():
    edit = PutQueue(tenant="nlp", queue=queue(cohort="research", quotas=lines(8)[:2]))
    assert len(apply(catalog(), [edit]).queues()[0][1].quotas) == 2


@given(catalogs())
def test_a_catalog_lacks_nothing_of_itself(made):
    assert missing(made, made) == ()
    assert frozen(made, made) == ()
    assert apply(made, [Replace(catalog=made)]) == made


@given(catalogs())
def test_any_catalog_can_be_built_from_edits(made):
    edits = [
        *(PutTopology(topology=each) for each in made.topologies),
        *(PutFlavor(flavor=each) for each in made.flavors),
        *(PutCohort(cohort=each) for each in made.cohorts),
        *(
            PutTenant(slug=each.slug, display_name=each.display_name, cost_centre=each.cost_centre)
            for each in made.tenants
        ),
        *(PutQueue(tenant=owner.slug, queue=each) for owner, each in made.queues()),
        *(PutPriority(priority=each) for each in made.priorities),
    ]
    assert apply(Catalog(), load_edits(dump_edits(edits))) == made
