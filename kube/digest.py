"""Canonical JSON and its SHA-256: equal meaning gives equal bytes."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Write JSON with sorted keys, no spaces and UTF-8; NaN and infinities are refused."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode("utf-8")


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of ``value`` in hexadecimal."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
