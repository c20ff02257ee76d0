"""The page about the catalog tells the truth."""

import json
import re
from pathlib import Path

from kube.catalog_json import load, loads
from kube.examples import EXAMPLES
from kube.messages import MESSAGES
from kube.rules import check

PAGE = (Path(__file__).parents[2] / "docs" / "catalog.md").read_text("utf-8")


def test_the_small_catalog_is_a_good_one():
    (text,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert json.loads(text)
    assert check(load(loads(text))) == ()


def test_the_codes_exist():
    assert set(re.findall(r"GP-\d{4}", PAGE)) <= set(MESSAGES)


def test_every_example_is_named():
    assert all(f"`{name}.json`" in PAGE for name in EXAMPLES)
