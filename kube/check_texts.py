"""What admission checks write about a workload, as a table: one row per text."""

from __future__ import annotations

import re
from typing import Final

_ROWS: Final = (
    ("check_not_active", re.compile(r"the check is not active", re.I)),
    ("provisioning_refused", re.compile(r"Error creating (?:ProvisioningRequest|PodTemplate)")),
    ("provisioning_failed", re.compile(r"Retrying after (?:failure|booking expired): ")),
    ("provisioning_eta", re.compile(r"\bETA: (?P<eta>\d{4}-\d\d-\d\dT\S*[^\s.,;])")),
    (
        "remote_evicted",
        re.compile(r'evicted on worker cluster: "(?P<remote>[^"]*)"', re.I),
    ),
    (
        "remote_waits",
        re.compile(r'workload (?:got reservation|was admitted) on "(?P<remote>[^"]*)"', re.I),
    ),
    ("remote_lost", re.compile(r"(?:Reserving|Admitting) remote lost", re.I)),
    (
        "remote_unsupported",
        re.compile(r"No multikueue adapter found|owner is not managed by Kueue", re.I),
    ),
)
_BEFORE: Final = re.compile(r"Previously: \"?(?P<before>[^\"]+)")


def read(message: str) -> tuple[str, dict[str, str]]:
    """Return the code of a check's text, ``""`` for one of its own, and what it names."""
    before = _BEFORE.search(message)
    params = {"before": before["before"].strip()} if before else {}
    for code, pattern in _ROWS:
        found = pattern.search(message)
        if found:
            return code, params | found.groupdict()
    return "", params
