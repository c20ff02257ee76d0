"""Small texts of Kueue, written as people write them."""

from __future__ import annotations

import re
from typing import Final

from django.utils.translation import gettext as _

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
