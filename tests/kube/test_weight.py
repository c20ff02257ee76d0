"""Fair sharing weights."""

import pytest

from kube.weight import parse_weight, weight_text
from tests.kube.make import code_of


@pytest.mark.parametrize(
    ("text", "written"),
    [("0", "0"), ("1", "1"), ("1.5", "1500m"), ("0.125", "125m"), ("2.000", "2"), ("1000", "1k")],
)
def test_writes_weights_as_kubernetes_would(text, written):
    assert weight_text(text) == written


@pytest.mark.parametrize("text", ["", "-1", "1e2", "1.2345", "1001", "9999", "1000.5", " 1", "1m"])
def test_refuses_other_weights(text):
    assert code_of(parse_weight, text) == "GP-2123"
