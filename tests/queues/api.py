"""What tests ask of every answer of the API: its description holds, and nothing of others."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator, FormatChecker

from tests.cast import MARK

FILE = Path(__file__).parents[1] / "contracts" / "openapi.yaml"
ROOT = "/api/v1/"


@cache
def description() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(FILE.read_text())
    return found


@cache
def validator(path: str, status: int) -> Draft202012Validator:
    """Check answers of one path as strictly as can be: no key that is not described."""
    answers = description()["paths"][path]["get"]["responses"]
    (content,) = answers[str(status)]["content"].values()
    components = {
        name: closed(each) for name, each in description()["components"]["schemas"].items()
    }
    schema = {**content["schema"], "components": {"schemas": components}}
    return Draft202012Validator(schema, format_checker=FormatChecker())


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    free = "additionalProperties" in schema or schema.get("type") != "object"
    return schema if free else {**schema, "additionalProperties": False}


def described(answer: Any, path: str) -> Any:
    """Return the body, after a look whether the description says just that."""
    errors = answer.status_code >= 400
    kind = "application/problem+json" if errors else "application/json"
    assert answer["Content-Type"] == kind, answer.content
    body = answer.json()
    validator(f"{ROOT}{path}", answer.status_code).validate(body)
    return body


def ask(client: Any, url: str, path: str, **query: object) -> Any:
    """Get an address and return its body."""
    answer = client.get(f"{ROOT}{url}", query)
    assert answer.status_code == 200, answer.content
    return described(answer, path)


def nothing_of_others(answer: Any) -> None:
    assert MARK not in answer.content.decode()
    assert MARK not in str(dict(answer.items()))
