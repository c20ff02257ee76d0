"""The golden files are what a real API server with a real Kueue accepts."""

import json
from pathlib import Path

import pytest

from kube import keys
from kube.errors import NamespaceMissing
from kube.kinds import KINDS

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
FILES = sorted(GOLDEN.glob("*.json"))


def objects():
    for path in FILES:
        data = json.loads(path.read_text())
        for item in data["items"] if isinstance(data, dict) else data:
            yield pytest.param(item, id=f"{path.stem}-{item['kind']}-{item['metadata']['name']}")


def test_there_are_golden_files():
    assert {path.stem for path in FILES} >= {"two-teams", "story", "complete"}


@pytest.mark.parametrize("body", list(objects()))
def test_the_cluster_accepts_it(body, applier):
    namespaced = KINDS[body["kind"]].namespaced
    try:
        answer = applier.apply(body, manager=keys.FIELD_MANAGER_QUOTA, dry_run=True)
    except NamespaceMissing:
        assert namespaced
    else:
        assert answer.object["metadata"]["name"] == body["metadata"]["name"]
