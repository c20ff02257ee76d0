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


def taint_parts(text: str) -> dict[str, str]:
    """Read key, value and effect of a taint as Kueue or the scheduler of Kubernetes prints it."""
    parts = [part.rstrip(":") for part in text.replace("=", " ", 1).split() if part != "<nil>"]
    read = {"effect": parts.pop()} if parts and parts[-1] in EFFECTS else {}
    return dict(zip(("key", "value"), parts, strict=False)) | read


def limited_names(text: str) -> tuple[str, list[str]]:
    """Give the side of a LimitRange that is broken, "above" or "below", and its resources."""
    found = _LIMITED.search(text)
    return (found["side"], re.findall(r'"([^"]+)"', found["names"])) if found else ("", [])


def limited(text: str) -> str:
    """Say of what a pod asks for too much or too little, by the words of a LimitRange."""
    side, names = limited_names(text)
    if not names:
        return ""
    said = _("more %(resources)s") if side == "above" else _("less %(resources)s")
    return said % {"resources": ", ".join(map(visible, names))}


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


def lacking(text: str) -> set[str]:
    """Give the resources of which machines have too little free for a pod."""
    return {row["name"] for row in _EXCLUDED.finditer(text) if row["kind"] == "resource"}


def only_busy(text: str) -> bool:
    """Say whether machines take no pod for want of free room alone."""
    return {row["kind"] for row in _EXCLUDED.finditer(text)} == {"resource"}
