"""Make Kueue look again at the jobs that wait in a cohort which a queue has left.

When a ClusterQueue moves, Kueue reconsiders the new cohort only. Any change of the *spec* of a
queue that stayed behind wakes the old one; an annotation does not (``tests/real/test_touch.py``).
The change made here has no effect: the threshold is read only together with a policy that the
touched queue does not have. A field manager of its own sets it and takes it back, so nobody
else's fields are touched and the object ends as it was.
"""

from __future__ import annotations

from typing import Any, Final

from kube.answers import Object
from kube.client import ClusterClient
from kube.errors import ProgrammingError
from kube.kinds import CLUSTER_QUEUE

MANAGER: Final = "gpuportal-touch"
_THRESHOLD: Final = {"preemption": {"borrowWithinCohort": {"maxPriorityThreshold": 0}}}


def is_neutral(queue: Object) -> bool:
    """Return whether the change has no effect on this queue, so that it may be touched."""
    preemption = queue.get("spec", {}).get("preemption") or {}
    borrow = preemption.get("borrowWithinCohort") or {}
    unused = borrow.get("policy", "Never") == "Never"
    foreign = "maxPriorityThreshold" in borrow and not _is_ours(queue)
    return unused and not foreign and not queue["metadata"].get("deletionTimestamp")


def touch(client: ClusterClient, queue: Object) -> None:
    """Touch a live ClusterQueue; raises what the cluster answers.

    An interrupted touch leaves the threshold behind, which the next one takes back.
    """
    if not is_neutral(queue):
        message = "this queue cannot be touched without an effect"
        raise ProgrammingError(message)
    metadata = queue["metadata"]
    body: dict[str, Any] = {
        "apiVersion": CLUSTER_QUEUE.api_version,
        "kind": CLUSTER_QUEUE.name,
        "metadata": {"name": metadata["name"]},
    }
    if not _is_ours(queue):
        client.apply({**body, "spec": _THRESHOLD}, manager=MANAGER, uid=metadata["uid"])
    client.apply(body, manager=MANAGER, uid=metadata["uid"])


def _is_ours(queue: Object) -> bool:
    """Return whether an earlier touch was interrupted before it took the field back."""
    fields = queue["metadata"].get("managedFields") or ()
    return any(each.get("manager") == MANAGER and each.get("fieldsV1") for each in fields)
