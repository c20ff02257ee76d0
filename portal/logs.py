"""Processors for the log: hide secrets, keep one event on one line."""

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, TextIO

MASK = "***"
SECRET_KEY_NAME = re.compile(
    r"token|secret|password|passwd|key|authorization|cookie|kubeconfig|cert", re.IGNORECASE
)
# Secrets also travel inside texts: URLs with a password, headers, keys in PEM form.
SECRET_IN_TEXT = (
    (re.compile(r"(?<=://)([^/\s:@]*):[^/\s@]+@"), r"\1:***@"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[a-z0-9._~+/=-]+"), r"\1 ***"),
    (re.compile(r"-----BEGIN [^-]+-----.*?(-----END [^-]+-----|\Z)", re.DOTALL), MASK),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), MASK),
)
# Names that match by accident and hold nothing secret.
HARMLESS = frozenset({"routing_key", "key_id"})
DEEPEST = 6
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]")


class StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to what `sys.stderr` is now, not to what it was when logging was set up."""

    @property
    def stream(self) -> TextIO:
        """Return the stream of this moment."""
        return sys.stderr

    @stream.setter
    def stream(self, _value: TextIO) -> None:
        """Ignore the stream that the base class wants to keep."""


def mask(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """Replace the values of telling keys, and secrets inside texts, at any depth."""
    for name, value in event.items():
        event[name] = masked(name, value)
    return event


def masked(name: str, value: Any, depth: int = 0) -> Any:
    """Return `value` fit for a log, given the name that it is logged under."""
    if name not in HARMLESS and not name.startswith("_") and SECRET_KEY_NAME.search(name):
        return MASK if value else value
    if isinstance(value, str):
        return masked_text(value)
    if depth >= DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {key: masked(str(key), item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked("", item, depth + 1) for item in value]
    return value


def masked_text(text: str) -> str:
    """Return the text without the secrets that can be recognised."""
    for pattern, replacement in SECRET_IN_TEXT:
        text = pattern.sub(replacement, text)
    return text


def newline_safe(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """Write control characters as escapes, so that nobody can forge a line of the log."""
    for name, value in event.items():
        if isinstance(value, str) and name != "exception":
            event[name] = CONTROL.sub(lambda hit: repr(hit.group())[1:-1], value)
    return event
