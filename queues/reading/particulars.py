"""The next step in the cluster's own terms: limits, labels, tolerations, levels, sizes, names.

Each says what a person has to know to change the job, and gives the lines to write where there
are any. What is not known is not said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kube.asked import is_device
from kube.catalog import CPU
from portal.web.wording import gpus, visible
from queues.kueue_words import lacking, limited_names, only_busy, taint_parts
from queues.reading.next_step import NextStep
from queues.selectors.hints import CHECKS, LABELLED, LEVELLED, TAINTED, Flavor
from queues.selectors.tenants import QueueNow
from queues.selectors.why import Facts
from queues.sentences import in_units, resource_name
from tenants.models import Entry

#: A job that names no entry, or one that is not there, or whose queue does not take it.
UNROUTED: Final = frozenset({"no_queue_label", "entry_missing", "namespace_mismatch"})
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
PREFERRED: Final = "kueue.x-k8s.io/podset-preferred-topology"

Steps = Iterator[NextStep]


def particulars(facts: Facts) -> Steps:
    """Give what is known about the very thing that stops a job."""
    for codes, told in _TOLD:
        if facts.job.code in codes:
            yield from told(facts)


def no_machine_at_all(facts: Facts) -> bool:
    """Say whether the machines are what is wrong: a held flavor chooses some that do not exist."""
    return bool(facts.hints.unbacked)


def too_large_for_all(facts: Facts) -> bool | None:
    """Say whether no machine is as large as one pod; None where that is not known."""
    pod, largest = _pod_size(facts), _largest(facts)
    return None if pod is None or largest is None else pod > largest


# --- the way to a queue ---------------------------------------------------------------------------


def _entries(facts: Facts) -> Steps:
    """Name the entries that its own namespace has, the one with most free devices first."""
    rows = [
        (_free(now), each.name)
        for now in facts.beside
        for each in now.entries
        if each.namespace == facts.job.namespace
    ]
    if not rows:
        yield from _elsewhere(facts)
        return
    rows.sort(key=lambda row: (-row[0] if row[0] is not None else 1, row[1]))
    text = ngettext(
        "Its namespace has the entry %(names)s.",
        "Its namespace has the entries %(names)s.",
        len(rows),
    )
    label = f"{QUEUE_LABEL}: {rows[0][1]}"
    yield NextStep("entries", text % {"names": ", ".join(map(_entry_text, rows))}, copy=label)


def _free(now: QueueNow) -> int | None:
    rooms = [line.room.free for line in now.devices if line.room is not None]
    return max(rooms) if rooms else None


def _entry_text(row: tuple[int | None, str]) -> str:
    free, name = row
    if free is None:
        return name
    return _("%(entry)s (%(free)s free)") % {"entry": name, "free": gpus(free)}


def _elsewhere(facts: Facts) -> Steps:
    """Name an entry of another namespace of the tenant, where its own has no other."""
    found: list[Entry] = [each for now in facts.beside for each in now.entries]
    if facts.job.code != "namespace_mismatch" or not found:
        return
    best = min(found, key=lambda each: (each.namespace, each.name))
    text = _("Your tenant has the entry %(entry)s in the namespace %(namespace)s: send it there.")
    names = {"entry": best.name, "namespace": best.namespace}
    yield NextStep("entries", text % names, copy=f"{QUEUE_LABEL}: {best.name}")


# --- what it asks for -----------------------------------------------------------------------------


def _limits(facts: Facts) -> Steps:
    """Tell the numbers of the LimitRanges that a job breaks."""
    side, names = limited_names(str(facts.job.params.get("text", "")))
    for range_, limit in facts.hints.limits:
        bounds = limit.get("max" if side == "above" else "min")
        if not isinstance(bounds, Mapping):
            continue
        for name in names:
            if name in bounds:
                yield _limit(range_, limit, side, name, str(bounds[name]))


def _limit(range_: str, limit: Mapping[str, Any], side: str, name: str, bound: str) -> NextStep:
    pod = limit.get("type") == "Pod"
    if side == "above":
        text = _("At most %(amount)s in one container, says the LimitRange %(name)s.")
        if pod:
            text = _("At most %(amount)s in one pod, says the LimitRange %(name)s.")
    else:
        text = _("At least %(amount)s in one container, says the LimitRange %(name)s.")
        if pod:
            text = _("At least %(amount)s in one pod, says the LimitRange %(name)s.")
    return NextStep("limit", text % {"amount": _amount(bound, name), "name": visible(range_)})


def _amount(bound: str, resource: str) -> str:
    """Give an amount with its resource: "0.5 CPU", "1 GiB of memory"."""
    amount = in_units(bound, resource)
    if resource == CPU:
        return amount
    return _("%(n)s of %(resource)s") % {"n": amount, "resource": resource_name(resource)}


def _covered(facts: Facts) -> Steps:
    names = list(dict.fromkeys(each.line.resource for each in facts.lines))
    if names:
        text = _("Its queue has quota of %(resources)s, and of nothing else.")
        listed = ", ".join(map(resource_name, names))
        yield NextStep("covered", text % {"resources": listed})


def _labels(facts: Facts) -> Steps:
    """Give the labels of the machines of each flavor: a selector must agree with them."""
    for flavor in _flavors(facts):
        if flavor.name in facts.hints.unbacked:
            yield _unbacked(flavor)
        elif flavor.labels:
            text = _(
                "A node selector on one of these labels must have the value that machines of the "
                "flavor %(flavor)s have:"
            )
            lines = [f"{visible(key)}: {visible(value)}" for key, value in flavor.labels.items()]
            yield NextStep(
                "labels", text % {"flavor": visible(flavor.name)}, copy="\n".join(sorted(lines))
            )


def _unbacked(flavor: Flavor) -> NextStep:
    text = _(
        "No machine of the cluster carries the labels of the flavor %(flavor)s, so no change of the "
        "job helps on it: ask those who run the cluster, or use another flavor."
    )
    return NextStep("unbacked", text % {"flavor": visible(flavor.name)})


def _tolerations(facts: Facts) -> Steps:
    """Give the lines of a toleration, and what they are about."""
    known = [taint for flavor in _flavors(facts) for taint in flavor.taints]
    parts = taint_parts(str(facts.job.params.get("taint", "")))
    if not parts.get("key"):
        return
    match = next((each for each in known if _is(each, parts)), parts)
    text = _(
        "A taint keeps machines for those who tolerate it: ask those who run the cluster whether "
        "they are meant for you. If so, this goes into the pods:"
    )
    yield NextStep("toleration", text, copy=_toleration(match))


def _is(taint: Mapping[str, Any], parts: Mapping[str, str]) -> bool:
    """Say whether a taint is the one that was printed: one key may stand in several."""
    return all(str(taint.get(name, "")) == text for name, text in parts.items())


def _toleration(taint: Mapping[str, Any]) -> str:
    value = taint.get("value")
    rows = [("- key", taint["key"]), ("  operator", "Equal" if value else "Exists")]
    rows += [("  value", value)] if value else []
    rows += [("  effect", taint["effect"])] if taint.get("effect") else []
    return "\n".join(["tolerations:", *(f"{key}: {visible(str(each))}" for key, each in rows)])


def _flavors(facts: Facts) -> list[Flavor]:
    return [flavor for _name, flavor in sorted(facts.hints.flavors.items())]


def _switched_off(facts: Facts) -> Steps:
    """Give the command that lets a job queue again, as nothing in the job itself says so."""
    job = facts.job
    text = _("Whoever may change Workloads in its namespace does it with:")
    names = f"{visible(job.name)} -n {visible(job.namespace)}"
    command = f'kubectl patch workload {names} --type merge -p \'{{"spec":{{"active":true}}}}\''
    yield NextStep("switch_on", text, copy=command)


# --- turn, checks, room ---------------------------------------------------------------------------


def _head(facts: Facts) -> Steps:
    """Say who stands at the head of a strict line: everybody waits for that one job."""
    head, place = facts.hints.head, facts.place
    if head is None or head.pk == facts.job.pk:
        return
    if place is not None and any(each.pk == head.pk for each in place.mine):
        text = _("At the head of the line stands your job %(job)s, for which all others wait.")
        if head.never:
            text = _(
                "At the head of the line stands your job %(job)s, which cannot start as it is: "
                "change or delete it, and the line moves."
            )
        url = reverse("job", args=[facts.job.cluster.slug, head.namespace, head.name])
        names = {"job": visible(f"{head.namespace}/{head.job_name or head.name}")}
        yield NextStep("head", text % names, url, _("See why it waits"))
    elif head.never:
        text = _(
            "The job at the head of the line cannot start as it is: waiting alone does not help. "
            "Talk to those who run the cluster."
        )
        yield NextStep("head", text)


def _check(facts: Facts) -> Steps:
    controller = facts.hints.controllers.get(str(facts.job.params.get("check", "")), "")
    if controller:
        text = _(
            "The check is decided by the controller %(controller)s; those who run the cluster can "
            "say what it looks at."
        )
        yield NextStep("controller", text % {"controller": visible(controller)})


def _room(facts: Facts) -> Steps:
    """Compare a pod with the largest machine: too large for ever, or only busy now."""
    pod, largest = _pod_size(facts), _largest(facts)
    if largest is None:
        return
    text = _("The largest machine for it has %(largest)s.")
    if pod is not None:
        text = _("Each pod asks for %(pod)s, and the largest machine has %(largest)s.")
    if pod is not None and pod > largest:
        text = _(
            "Each pod asks for %(pod)s, and the largest machine has %(largest)s: waiting does not "
            "help. Ask for less in each pod, and for more pods."
        )
    elif pod is not None and only_busy(str(facts.job.params.get("excluded", ""))):
        text = _(
            "Each pod asks for %(pod)s, and the largest machine has %(largest)s: it is large "
            "enough, but has no room now."
        )
    yield NextStep("machines", text % {"pod": gpus(pod or 0), "largest": gpus(largest)})


def _levels(facts: Facts) -> Steps:
    """Name the levels of the topology, the widest first; a single pod is near to itself."""
    if str(facts.job.params.get("parts", "")) == "1":
        return
    topology = str(facts.job.params.get("topology", "")) or next(
        (each.topology for each in _flavors(facts) if each.topology), ""
    )
    levels = [level for level in facts.hints.levels.get(topology, ()) if level]
    if not levels:
        return
    text = ngettext(
        "Nearness can be asked for at this level: %(levels)s.",
        "Nearness can be asked for at these levels, the widest first: %(levels)s.",
        len(levels),
    )
    names = {"levels": ", ".join(map(visible, levels))}
    yield NextStep("levels", text % names, copy=f"{PREFERRED}: {visible(levels[0])}")


def _pod_size(facts: Facts) -> int | None:
    """Give the devices of one pod, where all pods of the job are alike for certain."""
    params, job = facts.job.params, facts.job
    parts = str(params.get("parts", ""))
    if params.get("unit") != "pod" or not parts.isdecimal() or len(job.reasons or ()) > 1:
        return None
    pods = int(parts)
    return job.devices // pods if pods and job.devices and not job.devices % pods else None


def _largest(facts: Facts) -> int | None:
    """Give what the largest machine offers of the device that is lacking; CPU is not compared."""
    lack = lacking(str(facts.job.params.get("excluded", "")))
    if len(lack) != 1 or not all(map(is_device, lack)):
        return None
    sizes = [size for (_, resource), size in facts.hints.largest.items() if resource in lack]
    return max(sizes, default=None)


_TOLD: Final[tuple[tuple[frozenset[str], Callable[[Facts], Steps]], ...]] = (
    (UNROUTED, _entries),
    (frozenset({"limit_range"}), _limits),
    (frozenset({"resource_not_covered"}), _covered),
    (LABELLED, _labels),
    (TAINTED, _tolerations),
    (frozenset({"deactivated"}), _switched_off),
    (frozenset({"behind_head"}), _head),
    (CHECKS, _check),
    (frozenset({"topology_too_small"}), _room),
    (LEVELLED, _levels),
)
