"""Small texts of Kueue, written as people write them."""

from __future__ import annotations

import re
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.web.wording import visible

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_LIMITED: Final = re.compile(
    r"\[(?P<names>[^\]]*)\]: .*must not be (?P<side>above|below) the limitRange"
)


def taint(text: str) -> str:
    """Write a taint as people do: Kueue prints its fields, and then when it was set."""
    parts = [part for part in text.split() if part != "<nil>"]
    if len(parts) < 2 or parts[-1] not in EFFECTS:
        return text
    return "=".join(parts[:-1]) + f":{parts[-1]}"


def limited(text: str) -> str:
    """Say of what a pod asks for too much or too little, by the words of a LimitRange."""
    found = _LIMITED.search(text)
    if found is None:
        return ""
    named = ", ".join(visible(name) for name in re.findall(r'"([^"]+)"', found["names"]))
    said = _("more %(resources)s") if found["side"] == "above" else _("less %(resources)s")
    return said % {"resources": named}


_EXCLUDED: Final = re.compile(
    r"(?P<kind>affinity|nodeSelector|resource|taint|topologyDomain)"
    r"(?: \"(?P<name>[^\"]*)\")?: (?P<nodes>\d+)"
)
_LACKS: Final = {
    "affinity": gettext_lazy("%(n)s do not match its node affinity"),
    "nodeSelector": gettext_lazy("%(n)s do not match its node selector"),
    "resource": gettext_lazy("%(n)s have too little %(name)s free for it"),
    "taint": gettext_lazy("%(n)s carry the taint %(name)s"),
    "topologyDomain": gettext_lazy("%(n)s stand in another part of the topology"),
}


def excluded(text: str) -> str:
    """Say why machines take no pod: "4 have too little nvidia.com/gpu free for it"."""
    return ", ".join(
        _LACKS[row["kind"]] % {"n": row["nodes"], "name": visible(row["name"] or "")}
        for row in _EXCLUDED.finditer(text)
    )
