"""Why kube-scheduler finds no machine for a pod, read from the text of its condition or event."""

from __future__ import annotations

import re
from typing import Final

from kube.lenient import whole

_HEAD = re.compile(r"\b0/(?P<nodes>\d{1,9}) nodes are available: (?P<causes>.*)", re.DOTALL)
_CAUSE = re.compile(r"(?P<count>\d{1,9}) (?P<cause>[^,.{]*(?:\{[^}]*\})?[^,{]*)")
_END = re.compile(r"\. (?:no new claims|preemption: )|, preemption: ")

#: From the cause that is nearest to a start to the one that is farthest away.
_CAUSES: Final = (
    ("pods_lack_room", re.compile(r"Insufficient (?P<resource>[^\s,]*[^\s,.])", re.I)),
    ("pods_lack_room", re.compile(r"Too many pods", re.I)),
    ("pods_nodes_closed", re.compile(r"were unschedulable|node\.kubernetes\.io/", re.I)),
    (
        "pods_wait_for_volume",
        re.compile(r"volume|persistentvolumeclaim", re.I),
    ),
    (
        "pods_untolerated_taint",
        re.compile(r"had untolerated taint(?:\(s\)|s)?(?: \{(?P<taint>[^}]*)\})?", re.I),
    ),
    ("pods_match_no_node", re.compile(r"match Pod's node affinity|match node selector", re.I)),
)
_VOLUME: Final = re.compile(r"persistentvolumeclaim|unbound immediate", re.I)


def why_unschedulable(text: str) -> tuple[str, dict[str, str]]:
    """Return the code of the nearest cause and what its sentence may name.

    A machine is counted with the first cause that it fails on, so machines that only lack room
    are those that match in every other way.
    """
    head = _HEAD.search(text)
    if head is None:
        return ("pods_wait_for_volume" if _VOLUME.search(text) else "unschedulable"), {}
    causes = [
        (whole(int(found["count"])), found["cause"])
        for found in _CAUSE.finditer(_END.split(head["causes"], maxsplit=1)[0])
    ]
    for code, pattern in _CAUSES:
        for count, cause in causes:
            said = pattern.search(cause)
            if said:
                named = {key: value for key, value in said.groupdict().items() if value}
                return code, {"nodes": head["nodes"], "of_these": str(count)} | named
    return "unschedulable", {"nodes": head["nodes"]}
