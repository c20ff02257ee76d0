"""The description of the API that is kept is the one that the code makes."""

import os
from pathlib import Path

import pytest
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.validation import validate_schema

from queues.api.schema import as_yaml, described

FILE = Path(__file__).parent / "openapi.yaml"
OPERATIONS = {
    f"{method} {path}": operation
    for path, methods in described()["paths"].items()
    for method, operation in methods.items()
}


def test_kept_description_is_the_one_of_the_code():
    made = as_yaml()
    if os.environ.get("UPDATE_OPENAPI") == "1":
        FILE.write_text(made)

    assert FILE.read_text() == made, "the API has changed: look at it, then run make openapi"


def test_description_is_valid_and_was_made_without_a_guess():
    with GENERATOR_STATS.silence():
        described.__wrapped__()

    validate_schema(described())
    assert not GENERATOR_STATS._warn_cache
    assert not GENERATOR_STATS._error_cache


def test_everything_is_only_read():
    assert {name.split()[0] for name in OPERATIONS} == {"get"}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_says_who_may_what_comes_and_what_can_go_wrong(name):
    operation = OPERATIONS[name]

    assert operation["security"] == [{"session": []}]
    assert {"200", "304", "400", "401"} <= set(operation["responses"])
    assert ("{" in name) == ("404" in operation["responses"])
    assert operation["description"].endswith(".")
    assert not operation["operationId"].endswith(("_2", "_retrieve"))


def test_every_quantity_has_a_unit_beside_it():
    schemas = described()["components"]["schemas"]
    for name in ("Amount", "Reason", "QuotaLine"):
        assert "unit" in schemas[name]["required"]
