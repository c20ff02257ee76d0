"""Whatever comes in: an answer or a refusal, and never an exception of another kind."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube import catalog as specs
from kube.catalog import Catalog
from kube.catalog_json import dump, load, loads
from kube.diff import diff, diff_lists, owned_digest
from kube.edits import apply, load_edits
from kube.examples import EXAMPLES, example
from kube.impact import capacity, reductions
from kube.manifest import Manifest
from kube.problems import InvalidCatalog, errors
from kube.render import render
from kube.rules import check, check_manifest
from tests.kube.make import GPU, answer
from tests.kube.strategies import catalogs

NAMES = st.sampled_from(["a", "b", "research", "", "A b", "x" * 300, "a\nb", "kube-system", "é"])
RESOURCES = st.sampled_from(["cpu", "memory", GPU, "", "gpu", "a b/c"])
NUMBERS = st.sampled_from([0, 1, -1, 1000, 1024, 2**31, 2**63, -(2**70)])
MAYBE = st.none() | NUMBERS
SOME = {"max_size": 3}


def tuples(inner):
    return st.lists(inner, **SOME).map(tuple)


QUOTAS = tuples(
    st.builds(
        specs.QuotaSpec,
        flavor=NAMES,
        resource=RESOURCES,
        nominal=NUMBERS,
        borrowing_limit=MAYBE,
        lending_limit=MAYBE,
    )
)
FLAVORS = tuples(
    st.builds(
        specs.FlavorSpec,
        name=NAMES,
        capability=NAMES,
        resource=RESOURCES,
        device_kind=st.sampled_from(specs.DeviceKind),
        mig_profile=NAMES,
        topology=NAMES,
        node_labels=tuples(st.tuples(NAMES, NAMES)),
        taints=tuples(st.builds(specs.Taint, key=NAMES, value=NAMES)),
        tolerations=tuples(
            st.builds(specs.Toleration, key=NAMES, value=NAMES, toleration_seconds=MAYBE)
        ),
        cpu_per_device=MAYBE,
        memory_per_device=MAYBE,
        capacity=MAYBE,
    )
)
QUEUES = tuples(
    st.builds(
        specs.QueueSpec,
        name=NAMES,
        cohort=NAMES,
        weight=NAMES,
        quotas=QUOTAS,
        entries=tuples(st.builds(specs.EntrySpec, namespace=NAMES, name=NAMES)),
        preemption=st.builds(specs.Preemption, max_priority_threshold=MAYBE),
    )
)
WILD = st.builds(
    Catalog,
    topologies=tuples(st.builds(specs.TopologySpec, name=NAMES, levels=tuples(NAMES))),
    flavors=FLAVORS,
    cohorts=tuples(
        st.builds(specs.CohortSpec, name=NAMES, parent=NAMES, weight=NAMES, quotas=QUOTAS)
    ),
    tenants=tuples(st.builds(specs.TenantSpec, slug=NAMES, display_name=NAMES, queues=QUEUES)),
    priorities=tuples(st.builds(specs.PrioritySpec, name=NAMES, value=NUMBERS, contract=NAMES)),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, **SOME)
        | st.dictionaries(
            st.sampled_from(["name", "kind", "metadata", "spec", "items", "edit"]), inner
        )
    ),
    max_leaves=10,
)
STRANGE = st.sampled_from([None, True, -1, 1.5, "", "x", [], {}, [None], {"a": 1}, "a\0b", 10**30])


def places(value, path=()):
    """Yield the path of every value inside a JSON value."""
    yield path
    children = value.items() if isinstance(value, dict) else ()
    children = enumerate(value) if isinstance(value, list) else children
    for key, inner in children:
        yield from places(inner, (*path, key))


def changed(value, path, new):
    """Return a copy of a JSON value with something else at one place."""
    whole = {"root": copy.deepcopy(value)}
    inner = whole
    *before, last = ("root", *path)
    for key in before:
        inner = inner[key]
    inner[last] = new
    return whole["root"]


COMPLETE = dump(example("complete"))
COMPLETE_PLACES = list(places(COMPLETE))
OBJECTS = [json.loads(json.dumps(each.body)) for each in render(example("complete"))]


@given(WILD)
def test_the_rules_answer_for_any_catalog(made):
    assert all(each.message and each.field for each in check(made))


@given(WILD, WILD)
def test_impact_answers_for_any_catalogs(before, after):
    assert len(capacity(before)) <= len(before.flavors)
    assert all(each.room_lost >= 0 for each in reductions(before, after, {}))


@given(WILD)
def test_every_problem_is_one_line(made):
    assert all("\n" not in str(each) for each in check(made))


@given(WILD)
def test_what_has_no_error_can_be_rendered_and_read_back(made):
    good = [made] if not errors(check(made)) else []
    assert [load(dump(each)) for each in good] == good
    assert all(render(each) is not None for each in good)


@given(st.sampled_from(COMPLETE_PLACES), STRANGE)
def test_one_strange_value_is_read_or_refused_by_name(path, strange):
    result = answer(load, changed(COMPLETE, path, strange))
    assert isinstance(result, Catalog) or all(each.code for each in result.problems)


@given(st.sampled_from(COMPLETE_PLACES), STRANGE)
def test_a_refusal_names_the_field_that_was_changed(path, strange):
    result = answer(load, changed(COMPLETE, path, strange))
    names = [key for key in path if isinstance(key, str)]
    fields = [each.field for each in getattr(result, "problems", ())]
    assert all(set(names[:1]) <= {each.partition("[")[0]} or not names for each in fields)


@given(st.sampled_from(OBJECTS), st.data())
def test_comparing_answers_for_any_change_of_an_object(body, data):
    path = data.draw(st.sampled_from([each for each in places(body) if each]))
    live = changed(body, path, data.draw(STRANGE))
    assert isinstance(diff(live, body), tuple)
    assert isinstance(diff(body, live), tuple)
    assert len(owned_digest(live, body)) == 64
    assert isinstance(check_manifest(Manifest.of(live)), tuple)


@given(st.dictionaries(st.sampled_from(["kind", "metadata", "spec", "status"]), JSON))
def test_comparing_answers_for_any_object(body):
    assert diff(body, body) == ()
    assert isinstance(diff_lists([body], OBJECTS), tuple)
    assert isinstance(diff(OBJECTS[0], body), tuple)


@given(JSON)
def test_edits_are_read_or_refused(data):
    assert getattr(answer(load_edits, data), "problems", ("read",)) or data == []


@given(catalogs(), JSON)
def test_edits_are_applied_or_refused(made, data):
    edits = answer(load_edits, [{"edit": "put_queue", "tenant": "n-a", "queue": data}])
    refused = isinstance(edits, InvalidCatalog)
    assert refused or isinstance(answer(apply, made, edits), Catalog | InvalidCatalog)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("cut", [1, 2, 10, 100, 1000])
def test_half_a_file_is_refused_where_it_ends(name, cut):
    text = json.dumps(dump(example(name)), indent=1)
    with pytest.raises(InvalidCatalog, match="line "):
        loads(text[:-cut])


@pytest.mark.parametrize("value", [[], {}, "x", 5, True, None])
@pytest.mark.parametrize("part", ["topologies", "flavors", "cohorts", "tenants", "priorities"])
def test_a_list_of_strange_things_is_refused(part, value):
    with pytest.raises(InvalidCatalog) as caught:
        load({part: [value]})
    assert all(each.field.startswith(f"{part}[0]") for each in caught.value.problems)
