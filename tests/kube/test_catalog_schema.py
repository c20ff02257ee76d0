"""The JSON Schema says the same as the strict reader, as far as a schema can."""

import copy
import json

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from kube.catalog import Catalog
from kube.catalog_json import dump, field_types, load
from kube.catalog_notes import LENGTHS, NOTES, PATTERNS, RANGES
from kube.catalog_schema import schema
from kube.examples import EXAMPLES, example
from kube.problems import InvalidCatalog
from tests.kube.strategies import catalogs

VALIDATOR = Draft202012Validator(schema())


def changed(path, value):
    data = copy.deepcopy(dump(example("complete")))
    inner = data
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return data


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_valid(name):
    VALIDATOR.validate(dump(example(name)))


@given(catalogs())
def test_every_written_catalog_is_valid(made):
    VALIDATOR.validate(dump(made))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("flavours",), []),
        (("flavors", 0, "capacity"), "8"),
        (("flavors", 0, "capacity"), True),
        (("flavors", 0, "capacity"), -1),
        (("flavors", 0, "cpu_per_device"), 16),
        (("flavors", 0, "cpu_per_device"), "16k"),
        (("flavors", 0, "memory_per_device"), "192G"),
        (("flavors", 0, "device_kind"), "half"),
        (("flavors", 0, "node_labels"), []),
        (("flavors", 0, "taints", 0, "effect"), "noschedule"),
        (("flavors", 0, "name"), "A"),
        (("tenants", 0, "slug"), "a" * 41),
        (("tenants", 0, "queues", 0, "weight"), 1),
        (("tenants", 0, "queues", 0, "quotas", 0, "nominal"), 384),
        (("tenants", 0, "queues", 0, "quotas", 2, "nominal"), "24"),
        (("tenants", 0, "queues", 0, "quotas", 2, "nominal"), None),
        (("tenants", 0, "queues", 0, "quotas", 2, "borrowing_limit"), 1.5),
        (("priorities", 0, "value"), "1000"),
    ],
)
def test_refuses_what_the_reader_refuses(path, value):
    data = changed(path, value)
    assert list(VALIDATOR.iter_errors(data))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("flavors", 0, "capacity"), None),
        (("tenants", 0, "queues", 0, "quotas", 2, "borrowing_limit"), None),
        (("tenants", 0, "queues", 0, "quotas", 0, "lending_limit"), None),
        (("tenants", 0, "queues", 0, "preemption", "max_priority_threshold"), None),
    ],
)
def test_null_means_not_set(path, value):
    data = changed(path, value)
    VALIDATOR.validate(data)
    load(data)


@pytest.mark.parametrize(
    "path", [("flavors", 0, "name"), ("tenants", 0, "display_name"), ("priorities", 0, "value")]
)
def test_required_fields_are_required(path):
    data = dump(example("complete"))
    del data[path[0]][path[1]][path[2]]
    assert list(VALIDATOR.iter_errors(data))
    with pytest.raises(InvalidCatalog):
        load(data)


def test_every_field_is_described():
    described = {cls: set(notes) for cls, notes in NOTES.items()}
    assert described == {cls: set(field_types(cls)) for cls in NOTES}


def test_every_object_of_the_catalog_is_described():
    assert {cls.__name__ for cls in NOTES} == set(schema()["$defs"])


def test_notes_name_only_fields_that_exist():
    noted = [*PATTERNS, *LENGTHS, *RANGES]
    assert all(name in field_types(cls) for cls, name in noted)


def test_units_are_named():
    flavor = schema()["$defs"]["FlavorSpec"]["properties"]
    assert flavor["capacity"]["x-unit"] == "devices"
    assert flavor["cpu_per_device"]["x-unit"] == "CPUs"


def test_every_object_is_closed():
    assert all(each["additionalProperties"] is False for each in schema()["$defs"].values())


def test_the_schema_is_json_and_always_the_same():
    assert json.dumps(schema()) == json.dumps(schema())
    assert schema()["$ref"] == f"#/$defs/{Catalog.__name__}"
