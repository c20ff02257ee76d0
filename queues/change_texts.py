"""Changes of a Workload on its time line in words: the condition, check or setting, and its value."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from kube.condition_log import CHECK
from portal.web.wording import exact, visible

Text = str | Promise

#: (condition, status) -> what it means for the job.
CONDITIONS: Final[Mapping[tuple[str, str], Text]] = {
    ("QuotaReserved", "True"): _lazy("Got its quota"),
    ("QuotaReserved", "False"): _lazy("Holds no quota"),
    ("Admitted", "True"): _lazy("Was admitted"),
    ("Admitted", "False"): _lazy("Is not admitted"),
    ("Evicted", "True"): _lazy("Had to give its place back"),
    ("Evicted", "False"): _lazy("Is not being stopped any more"),
    ("Preempted", "True"): _lazy("Was stopped for another job"),
    ("Preempted", "False"): _lazy("The loss of its place is over"),
    ("Requeued", "True"): _lazy("Is in the queue again"),
    ("Requeued", "False"): _lazy("Has to wait before it may queue again"),
    ("PodsReady", "True"): _lazy("All its pods are ready"),
    ("PodsReady", "False"): _lazy("Not all its pods are ready"),
    ("Finished", "True"): _lazy("Ended"),
    ("DeactivationTarget", "True"): _lazy("Is being switched off"),
    ("Active", "False"): _lazy("Was switched off"),
    ("Active", ""): _lazy("Was switched on"),
    ("Owner", "False"): _lazy("No job owns it any more"),
    ("Owner", ""): _lazy("Has an owner again"),
}
CHECKS: Final[Mapping[str, Text]] = {
    "Pending": _lazy("The check %(name)s has not decided"),
    "Ready": _lazy("The check %(name)s agreed"),
    "Retry": _lazy("The check %(name)s asks for another try"),
    "Rejected": _lazy("The check %(name)s refused it"),
    "": _lazy("The check %(name)s is not asked any more"),
}
#: How a line looks, as a state of :mod:`portal.web.states`; all others are a dot.
LOOKS: Final[Mapping[tuple[str, str], str]] = {
    ("QuotaReserved", "True"): "starting",
    ("QuotaReserved", "False"): "waiting",
    ("Admitted", "True"): "running",
    ("Evicted", "True"): "being_stopped",
    ("Preempted", "True"): "preempted",
    ("Finished", "True"): "finished",
    ("Active", "False"): "deactivated",
}
#: What Kueue writes in one second, in the order in which it happens.
ORDER: Final = (
    ("Priority", ""), ("QuotaReserved", "True"), ("Admitted", "True"), ("PodsReady", "True"),
    ("DeactivationTarget", "True"), ("Evicted", "True"), ("Preempted", "True"),
    ("QuotaReserved", "False"), ("Admitted", "False"), ("Requeued", "True"), ("Finished", "True"),
)  # fmt: skip
#: What begins so was true before and is none of the news.
BEFORE: Final = "Previously: "


def rank(kind: str, status: str) -> int:
    """Give the place of a line among those of the same second; what has none is the first."""
    key = (kind, "") if kind == "Priority" else (kind, status)
    return ORDER.index(key) if key in ORDER else -1


def change(kind: str, status: str, reason: str) -> str:
    """Say what a line of the time line means; what has no words here stays as it came."""
    known = CONDITIONS.get((kind, status))
    if known is not None:
        return str(known)
    if kind.startswith(CHECK):
        text = CHECKS.get(status, _lazy("The check %(name)s is in the state %(state)s"))
        names = {"name": visible(kind.removeprefix(CHECK)), "state": visible(status)}
        return str(text) % names
    if kind == "RequeueAt":
        return _requeue(status)
    if kind == "PodsDone":
        return _("%(n)s of its pods are done") % {"n": visible(status)}
    if kind == "Priority":
        name = f" ({visible(reason)})" if reason else ""
        return _("Its priority is %(value)s%(name)s") % {"value": visible(status), "name": name}
    return visible(f"{kind}: {status or '-'}")


def _requeue(at: str) -> str:
    try:
        when = exact(datetime.fromisoformat(at))
    except ValueError:
        return _("May be tried again at once")
    return _("May be tried again at %(time)s") % {"time": when}


def look(kind: str, status: str) -> str:
    """Give the state whose icon marks a line."""
    return LOOKS.get((kind, status), "")
