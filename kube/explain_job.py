"""Why a job has no Workload at all: then only the job itself and its namespace can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypedDict, Unpack

from kube.event_facts import Event, read_events
from kube.job_facts import GROUP_LABEL, PRIORITY_LABEL, QUEUE_LABEL, JobFacts
from kube.lenient import Object, mapping, text
from kube.manager_facts import Manager
from kube.queue_facts import takes
from kube.reason_codes import reason
from kube.reasons import Explanation, Reason, State, listed

_INT32: Final = 2**31
_NAME_LABEL: Final = "kubernetes.io/metadata.name"


class JobRelated(TypedDict, total=False):
    """What may be known besides the job; left out or ``None`` is not known.

    ``entries``: the names of all LocalQueues of its namespace. ``priority_classes``: all
    WorkloadPriorityClasses. ``events``: those of the job and its pods.
    """

    entries: Iterable[str] | None
    namespace: Object | None
    priority_classes: Iterable[Object] | None
    events: Iterable[Object] | None
    manager: Manager | None


@dataclass(frozen=True)
class _Facts:
    job: JobFacts
    entries: tuple[str, ...] | None
    labels: Object | None
    classes: dict[str, object] | None
    events: tuple[Event, ...]
    manager: Manager


def explain_job(job: Object, **related: Unpack[JobRelated]) -> Explanation:
    """Say why Kueue has no Workload for a job. No input makes this raise.

    The caller has looked for the Workload: this is about jobs that have none.
    """
    facts = _gather(job, related)
    if facts.job.ended:
        return Explanation(State.FINISHED, (reason(facts.job.ended),))
    if facts.job.deleted:
        return Explanation(State.GONE, (reason("deleted", since=facts.job.deleted),))
    found = next((found for rule in _RULES if (found := rule(facts))), None)
    return _placed(facts, found or reason("workload_not_made", since=facts.job.created))


def _gather(job: Object, related: JobRelated) -> _Facts:
    entries, namespace = related.get("entries"), related.get("namespace")
    classes = related.get("priority_classes")
    body = mapping(job)
    labels = None if namespace is None else mapping(namespace, "metadata", "labels")
    name = text(body, "metadata", "namespace")
    return _Facts(
        job=JobFacts(body),
        entries=None if entries is None else tuple(sorted(entries)),
        labels=None if labels is None else {_NAME_LABEL: name, **labels},
        classes=None if classes is None else {
            text(each, "metadata", "name"): mapping(each).get("value") for each in classes
        },
        events=read_events(related.get("events") or ()),
        manager=related.get("manager") or Manager(),
    )  # fmt: skip


def _placed(facts: _Facts, found: Reason) -> Explanation:
    """A job that is not held back runs, and no quota counts it."""
    outside = found.code in _NOT_LOOKED_AT and not facts.job.suspended
    if not outside:
        return Explanation(State.WAITING, (found,))
    runs = reason("outside_queues", since=facts.job.created)
    return Explanation(State.RUNNING, (runs, found))


#: With these Kueue takes no notice of the job, so nothing holds it back either.
_NOT_LOOKED_AT: Final = frozenset({"no_queue_label", "framework_off", "namespace_excluded"})


# --- from what is wrong with the job to what is wrong with the cluster --------------------------------


def _nested(facts: _Facts) -> Reason | None:
    owner = facts.job.managed_by
    deep = _event(facts, "JobNestingTooDeep")
    if deep:
        return reason("nesting_too_deep", raw=deep.note, since=deep.seen)
    return reason("nested_owner", params={"owner": owner}) if owner else None


def _no_label(facts: _Facts) -> Reason | None:
    if facts.job.label(QUEUE_LABEL) or facts.job.prebuilt or facts.manager.without_queue_name:
        return None
    named = listed(facts.entries or ())
    return reason("no_queue_label", params={"entries": named} if named else {})


def _framework(facts: _Facts) -> Reason | None:
    known = facts.manager.frameworks
    if known is None or not facts.job.kind or facts.job.framework in known:
        return None
    return reason("framework_off", params={"kind": facts.job.kind})


def _namespace(facts: _Facts) -> Reason | None:
    selector = facts.manager.namespaces
    if selector is None or takes(selector, facts.labels) is not False:
        return None
    return reason("namespace_excluded", params={"namespace": facts.job.namespace})


def _priority(facts: _Facts) -> Reason | None:
    name = facts.job.label(PRIORITY_LABEL)
    said = _event(facts, "WorkloadPriorityClassNotFound")
    missing = name and facts.classes is not None and name not in facts.classes
    if not missing and not said:
        return None
    params = {"priority_class": name, "priorities": listed(sorted(facts.classes or ()))}
    told = {key: value for key, value in params.items() if value}
    return reason("priority_class_missing", params=told, raw=said.note if said else "")


def _prebuilt(facts: _Facts) -> Reason | None:
    name = facts.job.prebuilt
    return reason("prebuilt_missing", params={"workload": name}) if name else None


def _compose(facts: _Facts) -> Reason | None:
    said = _event(facts, "ErrWorkloadCompose")
    if not said:
        return None
    few = bool(facts.job.label(GROUP_LABEL)) or "fewer runnable pods" in said.note
    code = "pod_group_incomplete" if few else "compose_failed"
    return reason(code, params={"text": said.note}, raw=said.note, since=said.seen)


def _breaks(facts: _Facts) -> Reason | None:
    """One class with a number beyond 32 bits, and Kueue sees no new class and starts no more."""
    broken = sorted(name for name, value in (facts.classes or {}).items() if _too_large(value))
    return (
        reason("priority_class_breaks_kueue", params={"priority_class": broken[0]})
        if broken
        else None
    )


def _too_large(value: object) -> bool:
    return isinstance(value, int) and not -_INT32 <= value < _INT32


def _entry(facts: _Facts) -> Reason | None:
    name, entries = facts.job.label(QUEUE_LABEL), facts.entries
    if not name or entries is None or name in entries:
        return None
    params = {"entry": name, "entries": listed(entries)}
    return reason("entry_missing", params={key: value for key, value in params.items() if value})


def _event(facts: _Facts, name: str) -> Event | None:
    return next((each for each in facts.events if each.reason == name), None)


_RULES: Final[tuple[Callable[[_Facts], Reason | None], ...]] = (
    _nested, _no_label, _framework, _namespace, _priority, _prebuilt, _compose, _breaks, _entry,
)  # fmt: skip
