"""What tests ask of every answer of the API: its description holds, and nothing of others."""

from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from django.utils import timezone
from jsonschema import Draft202012Validator, FormatChecker

from tenants.models import Request
from tests.cast import MARK
from tests.queues import seen

FILE = Path(__file__).parents[1] / "contracts" / "openapi.yaml"
ROOT = "/api/v1/"
#: One address of each kind, as the language team asks.
LOOKED_AT = [
    "jobs/", "jobs/lab/nlp/train-1/", "jobs/lab/nlp/train-1/why/", "queues/", "queues/lab/nlp-train/",
    "queues/lab/nlp-train/positions/", "tenants/", "tenants/nlp/", "requests/", "clusters/", "clusters/lab/",
]  # fmt: skip


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


# --- a day of both teams ---------------------------------------------------------------------------


def line_of_both(lab):
    """Both teams wait in the queue of the language team."""
    seen.lab(lab.cluster)
    at = timezone.now() - timedelta(hours=1)
    seen.workload(
        lab.cluster, "first", position=1, devices=4, priority=2000, priority_class="boss-urgent"
    )
    seen.workload(lab.cluster, MARK, namespace="cv", position=2, devices=16)
    seen.workload(lab.cluster, f"{MARK}-2", namespace="cv", position=3, devices=1)
    seen.workload(lab.cluster, "train-1", position=4, priority_class="normal-batch", created_at=at)


def day_of_both(lab):
    """Both teams wait in both queues; one job runs, one is done."""
    line_of_both(lab)
    at = timezone.now() - timedelta(hours=1)
    seen.running(lab.cluster, "train-0", created_at=at - timedelta(days=1))
    seen.workload(lab.cluster, "report", state="finished", code="succeeded", stage="", params={})
    seen.workload(lab.cluster, f"{MARK}-3", namespace="cv", queue="cv-train", position=1)
    Request.objects.create(
        cluster=lab.cluster, tenant=lab.nlp, kind="quota", author=lab.alice, reason="A better model",
        state="planned", key="key-0123456789abcdef", problems=[{"field": "", "code": "GP-2205"}],
        edits=[{"edit": "set_quota", "queue": "nlp-train", "flavor": "a100", "nominal": 24}],
    )  # fmt: skip


def hours_of_both(lab):
    """Two hours of a day of both teams, and one that nobody watched."""
    from costs.facts import Quality
    from tests.costs import stored

    for of, quality in ((8, Quality.OBSERVED), (9, Quality.OBSERVED), (10, Quality.MISSING)):
        mine = stored.fact(
            stored.at(2, of), "nlp", committed=16, own=12, borrowed=2, quality=quality
        )
        theirs = stored.fact(stored.at(2, of), "cv", committed=8, own=5, quality=quality)
        stored.store(lab.cluster, mine, theirs)
