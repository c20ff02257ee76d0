"""Fair sharing weights: decimal texts from 0 to 1000 with at most three places."""

from __future__ import annotations

import re
from typing import Final

from kube import quantity
from kube.catalog import CPU
from kube.problems import Refused, shown

WEIGHT_PATTERN: Final = r"(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?"
_LARGEST: Final = 1_000_000
_WEIGHT = re.compile(WEIGHT_PATTERN, re.ASCII)


def parse_weight(text: str) -> int:
    """Read a weight as thousandths; 0 means that everything borrowed counts as too much."""
    match = _WEIGHT.fullmatch(text)
    if match is None:
        raise Refused(code="GP-2123", value=shown(text))
    thousandths = quantity.parse_cpu(text)
    if thousandths > _LARGEST:
        raise Refused(code="GP-2123", value=shown(text))
    return thousandths


def weight_text(text: str) -> str:
    """Write a weight as the Kubernetes quantity type would (``1.5`` becomes ``1500m``)."""
    return quantity.format(CPU, parse_weight(text))
