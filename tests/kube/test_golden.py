"""The rendered examples as files, so that a change of one byte is seen in review.

Run with ``UPDATE_GOLDEN=1`` in the environment to write them anew.
"""

import json
import os
from pathlib import Path

import pytest

from kube.examples import EXAMPLES, example
from kube.render import render

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_render_to_the_golden_files(name):
    items = [each.body for each in render(example(name))]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    text = json.dumps(listed, indent=2, ensure_ascii=False) + "\n"
    path = GOLDEN / f"{name}.json"
    _ = os.environ.get("UPDATE_GOLDEN") and path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text
