"""The JSON form of catalogs: strict in, canonical out, nothing lost on the way."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.catalog import Catalog, FlavorSpec, PrioritySpec, QuotaSpec, TopologySpec
from kube.catalog_json import MAX_BYTES, decode, dump, encode, load, loads
from kube.digest import canonical_json, digest
from kube.problems import InvalidCatalog
from tests.kube.make import GI, GPU, answer, catalog, flavor
from tests.kube.strategies import catalogs

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


def problems_of(call, *arguments):
    with pytest.raises(InvalidCatalog) as caught:
        call(*arguments)
    return [(each.code, each.field) for each in caught.value.problems]


def quota(**values):
    line = {"flavor": "a100", "resource": GPU, "nominal": 8, **values}
    return {"cohorts": [{"name": "c", "quotas": [line]}]}


@given(catalogs())
def test_catalogs_survive_writing_and_reading(made):
    assert load(dump(made)) == made


@given(catalogs())
def test_catalogs_survive_json_text(made):
    text = json.dumps(dump(made), ensure_ascii=False)
    assert load(loads(text)) == made
    assert load(loads(text.encode())) == made


@given(catalogs())
def test_equal_catalogs_have_equal_digests(made):
    assert digest(dump(made)) == digest(dump(load(dump(made))))


@given(JSON)
def test_any_json_is_read_or_refused_with_fields(data):
    assert isinstance(answer(load, data), Catalog | InvalidCatalog)


@given(st.text() | st.binary())
def test_any_text_is_read_or_refused(text):
    assert getattr(answer(loads, text), "problems", ("read",))


def test_an_empty_object_is_an_empty_catalog():
    assert load({}) == Catalog()
    assert dump(Catalog()) == {}


def test_writes_devices_as_numbers_and_the_rest_as_quantities():
    line = QuotaSpec(flavor="a", resource=GPU, nominal=8, borrowing_limit=0)
    assert encode(line) == {"flavor": "a", "resource": GPU, "nominal": 8, "borrowing_limit": 0}
    cpu = QuotaSpec(flavor="a", resource="cpu", nominal=1500, lending_limit=1000)
    assert encode(cpu)["nominal"] == "1500m"
    assert encode(cpu)["lending_limit"] == "1"
    memory = QuotaSpec(flavor="a", resource="memory", nominal=1536 * GI)
    assert encode(memory)["nominal"] == "1536Gi"


def test_writes_node_labels_as_a_sorted_object():
    spec = flavor(node_labels=(("b", "2"), ("a", "1")))
    assert list(encode(spec)["node_labels"]) == ["a", "b"]


def test_null_and_absent_limits_are_both_not_set():
    absent, null = load(quota()), load(quota(borrowing_limit=None, lending_limit=None))
    assert absent == null
    assert absent.cohorts[0].quotas[0].borrowing_limit is None


def test_zero_is_a_limit():
    assert load(quota(borrowing_limit=0)).cohorts[0].quotas[0].borrowing_limit == 0


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (8.0, "GP-2104"),
        (8.5, "GP-2104"),
        ("8", "GP-2104"),
        ([8], "GP-2104"),
        ({"a": 1}, "GP-2104"),
        (True, "GP-2104"),
        (None, "GP-2104"),
        (-1, "GP-2113"),
        (10_000_000, "GP-2114"),
        (2**63, "GP-2114"),
    ],
)
def test_devices_are_whole_json_numbers_only(value, code):
    where = "cohorts[c].quotas[a100/nvidia.com/gpu].nominal"
    assert problems_of(load, quota(nominal=value)) == [(code, where)]


@pytest.mark.parametrize("value", [4, 4.5, True, None])
@pytest.mark.parametrize("resource", ["cpu", "memory"])
def test_cpu_and_memory_are_texts_only(resource, value):
    where = f"cohorts[c].quotas[a100/{resource}].nominal"
    assert problems_of(load, quota(resource=resource, nominal=value)) == [("GP-2104", where)]


def test_cpu_and_memory_are_read_by_the_strict_parser():
    assert problems_of(load, quota(resource="memory", nominal="4G"))[0][0] == "GP-2119"
    assert load(quota(resource="cpu", nominal="0.5")).cohorts[0].quotas[0].nominal == 500


def test_a_resource_that_is_no_text_is_refused_where_it_stands():
    assert problems_of(load, quota(resource=7)) == [("GP-2104", "cohorts[c].quotas[0].resource")]


def test_names_every_problem_with_its_field():
    data = {
        "flavors": [
            {"name": "a100", "capability": 1, "device_kind": "half", "colour": "red"},
            {"name": "h100", "capability": "x", "node_labels": [], "capacity": "8"},
            "t4",
        ],
        "priorities": [{"name": "p", "value": 1.0}, {"value": 2}],
        "topologies": {"name": "t"},
        "tenants": [{"slug": "nlp", "display_name": None, "queues": [{"name": "q", "weight": 2}]}],
    }
    assert sorted(problems_of(load, data)) == [
        ("GP-2102", "flavors[a100].colour"),
        ("GP-2103", "priorities[1].name"),
        ("GP-2104", "flavors[2]"),
        ("GP-2104", "flavors[a100].capability"),
        ("GP-2104", "flavors[h100].capacity"),
        ("GP-2104", "flavors[h100].node_labels"),
        ("GP-2104", "priorities[p].value"),
        ("GP-2104", "tenants[nlp].display_name"),
        ("GP-2104", "tenants[nlp].queues[q].weight"),
        ("GP-2104", "topologies"),
        ("GP-2106", "flavors[a100].device_kind"),
    ]


def test_lists_the_allowed_values():
    with pytest.raises(InvalidCatalog, match="choose one of: whole, mig, shared"):
        load({"flavors": [{"name": "a", "capability": "x", "device_kind": "half"}]})


def test_shows_the_empty_choice_by_a_word():
    data = {"flavors": [{"name": "a", "capability": "x", "tolerations": [{"effect": "noexecute"}]}]}
    with pytest.raises(InvalidCatalog, match=r"choose one of: \(empty\), NoSchedule"):
        load(data)


@pytest.mark.parametrize("data", [None, [], "x", 1, True, 1.5])
def test_a_catalog_is_an_object(data):
    assert problems_of(load, data) == [("GP-2104", "")]


def test_says_what_was_found_instead():
    with pytest.raises(InvalidCatalog, match="expected an object, got null"):
        load(None)


def test_values_of_no_json_type_are_named_by_their_type():
    with pytest.raises(InvalidCatalog, match="expected an object, got set"):
        load(set())


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_refuses_texts_that_cannot_be_stored(text):
    assert problems_of(load, {"tenants": [{"slug": "a", "display_name": text}]}) == [
        ("GP-2142", "tenants[a].display_name")
    ]


def test_quotes_strange_names_in_field_paths():
    data = {"tenants": [{"slug": "a\nb", "display_name": 1}], "x\ny": 1}
    assert problems_of(load, data) == [
        ("GP-2102", r"'x\ny'"),
        ("GP-2104", r"tenants['a\nb'].display_name"),
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "GP-2101"),
        ("{", "GP-2101"),
        ('{"a": 1,}', "GP-2101"),
        ("// no\n{}", "GP-2101"),
        ("[NaN]", "GP-2101"),
        ("[Infinity]", "GP-2101"),
        ("[-Infinity]", "GP-2101"),
        ("[1e999]", "GP-2101"),
        ("[-1e999]", "GP-2101"),
        ("9" * 5000, "GP-2101"),
        ('{"a": 1, "a": 2}', "GP-2105"),
        ("[" * 3000, "GP-2108"),
        ('{"a":' * 3000, "GP-2108"),
        ("[" * 33 + "]" * 33, "GP-2108"),
        ('"\\ud800"', "GP-2142"),
        (b"\xff\xfe{}", "GP-2101"),
        (b"\x00", "GP-2101"),
    ],
)
def test_refuses_bad_json_text(text, code):
    assert problems_of(loads, text) == [(code, "")]


def test_refuses_large_texts_before_reading_them():
    assert problems_of(loads, " " * (MAX_BYTES + 1)) == [("GP-2107", "")]
    assert loads("1" + " " * MAX_BYTES, max_bytes=MAX_BYTES + 1) == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"\xef\xbb\xbf{}", {}),
        ('{"a": [1, 2.5, null, "]}"]}', {"a": [1, 2.5, None, "]}"]}),
        ("[" * 32 + "]" * 32, None),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ('"\\\\ud800"', "\\ud800"),
    ],
)
def test_reads_good_json_text(text, value):
    assert loads(text) == value or value is None


def test_says_where_the_text_breaks():
    with pytest.raises(InvalidCatalog, match="line 2, column 1"):
        loads("{\n")


def test_reads_one_part_at_a_field():
    data = {"name": "p", "value": 7}
    assert decode(PrioritySpec, data, "edits[0].priority") == PrioritySpec(name="p", value=7)
    assert problems_of(decode, PrioritySpec, {"name": "p"}, "edits[0].priority") == [
        ("GP-2103", "edits[0].priority.value")
    ]


def test_required_lists_are_written_even_when_empty():
    assert encode(TopologySpec(name="t", levels=())) == {"name": "t", "levels": []}


def test_sorts_node_labels_when_reading():
    data = {"name": "a", "capability": "x", "node_labels": {"b": "2", "a": "1"}}
    assert decode(FlavorSpec, data).node_labels == (("a", "1"), ("b", "2"))


def test_labels_must_be_texts():
    data = {"name": "a", "capability": "x", "node_labels": {"a": 1}}
    assert problems_of(decode, FlavorSpec, data) == [("GP-2104", "node_labels")]


def test_canonical_json_is_sorted_and_utf8():
    assert canonical_json({"b": "ü", "a": [1, None]}) == '{"a":[1,null],"b":"ü"}'.encode()


def test_canonical_json_knows_no_nan():
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(float("nan"))


def test_digests_differ_by_content_and_not_by_order():
    made = catalog()
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest(dump(made)) != digest(dump(replace(made, priorities=())))
    assert len(digest({})) == 64


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("eight", "a text: 'eight'"),
        ("a\nb", r"a text: 'a\nb'"),
        (4.5, "a decimal number: 4.5"),
        (True, "true or false: true"),
        ([8], "a list"),
        (None, "null"),
    ],
)
def test_a_refused_type_shows_the_value(value, got):
    data = dump(catalog())
    data["tenants"][0]["queues"][0]["quotas"][2]["nominal"] = value
    with pytest.raises(InvalidCatalog) as caught:
        load(data)
    assert dict(caught.value.problems[0].params)["got"] == got


@pytest.mark.parametrize("value", [7, 10**5000], ids=["short", "long"])
def test_a_number_instead_of_a_text_is_refused_however_long(value):
    data = dump(catalog()) | {"priorities": [{"name": value, "value": 1}]}
    with pytest.raises(InvalidCatalog) as caught:
        load(data)
    assert len(caught.value.problems[0].message) < 80
