"""Reasons in words, for one viewer: what others own becomes a count, an unknown text stays itself.

The facts come from :mod:`kube.explain`, the words from :mod:`queues.reason_texts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from string import Formatter
from typing import Any, Final, Protocol

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kube import quantity
from kube.catalog import CPU, MEMORY
from portal.web.wording import gpus, moment, plain, visible
from portal.web.wording import quantity as amount_in_words
from queues.kueue_words import excluded, limited, taint
from queues.models import Workload
from queues.reason_texts import (
    BECAUSE,
    BEHIND,
    HELP,
    MAKING_ROOM,
    TEXTS,
    VARIANTS,
    WAITS_FOR,
    Texts,
)
from tenants.models import Queue

Owners = Mapping[tuple[int, str], Queue]
#: (cluster, queue, flavor, resource) -> what is held, what is promised.
Quotas = Mapping[tuple[int, str, str, str], tuple[int, int]]

STOPPED: Final = frozenset(
    {"queue_stopped", "entry_stopped", "queue_drained", "entry_drained", "on_hold"}
)
#: Kueue is done with these, and what a person sees is a job that starts.
STARTING: Final = frozenset({"container_starting", "pods_starting"})
FAILED: Final = frozenset({"failed", "failed_to_start"})
#: In these states nobody asks for the cluster's own words.
QUIET: Final = frozenset({"running", "finished", "gone"})
LONGEST_RAW: Final = 600
TIMES: Final = "\N{MULTIPLICATION SIGN}"


class Others(Protocol):
    """A count and a size instead of jobs, see :class:`queues.selectors.queues.Others`."""

    jobs: int
    devices: int
    first: int | None
    last: int | None


@dataclass(frozen=True, slots=True)
class Viewer:
    """What the words may say: ``foreign`` are names that this viewer must not read."""

    sees_all: bool = False
    foreign: frozenset[str] = frozenset()
    quotas: Quotas = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figures:
    """What is asked for, what of it is free now, what is missing; in devices."""

    asked: int
    free: int
    missing: int


@dataclass(frozen=True, slots=True)
class JobShown:
    """One job as a page draws it."""

    job: Workload
    queue: Queue | None
    state: str
    reason: SafeString
    help: str
    raw: str
    figures: Figures | None = None
    others: bool = False

    @property
    def word(self) -> str:
        """Say what a waiting job waits for, where one word tells it; else nothing."""
        return str(WAITS_FOR.get(self.job.stage, "")) if self.state == "waiting" else ""

    @property
    def stamp(self) -> tuple[object, ...]:
        """Give what moves when the job would look different."""
        job = self.job
        return (job.pk, job.position, self.state, job.since, str(self.reason), self.raw)


@dataclass(frozen=True, slots=True)
class OthersShown:
    """Jobs that the viewer may not see, in one line."""

    text: str
    first: int | None
    last: int | None
    others: bool = True

    @property
    def stamp(self) -> tuple[object, ...]:
        """Give what moves when the line would read differently."""
        return (self.text, self.first, self.last)


def shown(jobs: Iterable[Workload], owners: Owners, viewer: Viewer = Viewer()) -> list[JobShown]:
    """Put jobs that the viewer may see into words."""
    told: Told = {}
    return [_shown(job, owners, viewer, told) for job in jobs]


def lines(
    rows: Iterable[Any], owners: Owners, viewer: Viewer = Viewer()
) -> list[JobShown | OthersShown]:
    """Put a waiting line into words: own jobs by name, the others by count and size."""
    told: Told = {}
    return [
        _shown(row, owners, viewer, told) if isinstance(row, Workload) else _others(row)
        for row in rows
    ]


#: The words of those before, by all that they are made of: equal jobs wait by the hundred.
Told = dict[tuple[object, ...], tuple[SafeString, str, Figures | None, str]]


def _shown(job: Workload, owners: Owners, viewer: Viewer, told: Told) -> JobShown:
    key = (
        job.cluster_id, job.queue, job.state, job.code, job.devices, job.preempted,
        job.preempting, job.raw, repr(job.params), repr(job.held), repr(job.reasons),
    )  # fmt: skip
    if key not in told:
        raw = "" if job.state in QUIET or job.code == "unknown" else cleaned(job.raw, viewer)
        told[key] = reason(job, viewer), raw, figures(job), str(HELP.get(job.code, ""))
    words, raw, numbers, more = told[key]
    return JobShown(
        job=job, queue=owners.get((job.cluster_id, job.queue)), state=state_of(job),
        reason=words, help=more, raw=raw, figures=numbers,
    )  # fmt: skip


def figures(job: Workload) -> Figures | None:
    """Give asked, free and missing devices, where the cluster counts them."""
    params = deciding(job)
    missing = params.get("missing", "")
    if (
        job.code != "quota_short"
        or "/" not in params.get("resource", "")
        or not missing.isdecimal()
    ):
        return None
    number = min(int(missing), job.devices)
    return Figures(job.devices, job.devices - number, number)


def _others(row: Others) -> OthersShown:
    text = ngettext(
        "%(n)s job that is not shown to you by name, %(size)s",
        "%(n)s jobs that are not shown to you by name, %(size)s",
        row.jobs,
    )
    return OthersShown(text % {"n": row.jobs, "size": gpus(row.devices)}, row.first, row.last)


# --- state ----------------------------------------------------------------------------------------


def state_of(job: Workload) -> str:
    """Give the state under which people know where a job stands."""
    if job.state == "waiting":
        return _waiting(job)
    if job.state == "finished" and job.code in FAILED:
        return "failed"
    if job.state == "running" and job.code in STARTING:
        return "starting"
    return {"gone": "deleted", "stopping": "being_stopped"}.get(job.state, job.state)


def _waiting(job: Workload) -> str:
    if job.preempting:
        return "making_room"
    if job.code in STOPPED:
        return "on_hold"
    if job.never:
        return "cannot_run"
    return "preempted" if job.preempted else "waiting"


# --- reason -----------------------------------------------------------------------------------------


def reason(job: Workload, viewer: Viewer = Viewer()) -> SafeString:
    """Say why a job is where it is, the numbers in bold."""
    params = deciding(job)
    values = _values(job, params, viewer)
    said = _say(_texts_of(job.code, params, values), values)
    if job.preempted and job.code != "preempted" and job.state == "waiting":
        lost = values | _values(job, behind(job, "preempted"), viewer)
        said = format_html("{} {}", said, _say(TEXTS["preempted"], lost))
    if job.preempting:
        number = 1 if values.get("preempting") == "1" else 2
        said = format_html("{} {}", said, _say((MAKING_ROOM[number], MAKING_ROOM[0]), values))
    for name, texts in BEHIND.items():
        if values.get(name):
            said = format_html("{} {}", said, _say(texts, values))
    return said


def _texts_of(code: str, params: Mapping[str, str], values: Mapping[str, Any]) -> Texts:
    """Choose the words for a code: of quota they say what bounds it."""
    if "/" not in params.get("resource", "/"):
        kind = "other"
    elif values.get("nominal") == "0":
        kind = "none"
    elif "1" in (params.get("parts"), params.get("ahead")):
        kind = "one"
    else:
        kind = params.get("bound", "")
    return VARIANTS.get(f"{code}:{kind}") or TEXTS.get(code) or TEXTS["unknown"]


def _say(texts: Texts, values: Mapping[str, Any]) -> SafeString:
    """Fill the first template of which everything is known."""
    for text in map(str, texts):
        names = _names(text)
        if all(values.get(name) for name in names):
            bold = {name: _bold(name, values[name]) for name in names}
            return format_html(escape(text), **bold) if bold else escape(text)
    return format_html("{}", str(texts[-1]))


#: Values that are part of the sentence and not numbers or names.
PLAIN: Final = ("preempted_because", "why", "raw")


def _bold(name: str, value: Any) -> Any:
    return value if name in PLAIN else format_html("<b>{}</b>", value)


@lru_cache(maxsize=1000)
def _names(text: str) -> tuple[str, ...]:
    return tuple(name for _text, name, _spec, _how in Formatter().parse(text) if name)


def deciding(job: Workload) -> dict[str, str]:
    """Give the parameters of the deciding reason as text."""
    return {str(key): str(value) for key, value in job.params.items()}


def behind(job: Workload, code: str) -> dict[str, str]:
    """Give the parameters of a further reason as text; those of the deciding one without it."""
    found = next((each for each in job.reasons if each.get("code") == code), None)
    if found is None:
        return deciding(job)
    return {str(key): str(value) for key, value in found.get("params", {}).items()}


def _values(job: Workload, given: Mapping[str, str], viewer: Viewer) -> dict[str, Any]:
    params = {key: visible(value) for key, value in given.items()}
    flavor, resource = params.get("flavor", ""), params.get("resource", "")
    values: dict[str, Any] = {key: cleaned(value, viewer) for key, value in params.items()}
    values["asked_parts"] = params.get("parts") or params.get("asked", "")
    values["asked"] = size(job, flavor)
    values["raw"] = cleaned(job.raw, viewer)
    for name in ("missing", "capacity", "total"):
        values[name] = in_units(params.get(name, ""), resource)
    for name in ("over", "borrowed", "at_risk"):
        values[name] = counted(params.get(name, ""), resource)
    values["resource"] = resource_name(resource)
    for name in ("preempted_because", "why"):
        values[name] = BECAUSE.get(params.get(name, ""), "")
    for name in ("requeue_at", "eta", "deadline"):
        values[name] = _time(params.get(name, ""))
    values["holds"] = holds(job)
    values["taint"] = taint(values.get("taint", ""))
    values["excluded"] = excluded(params.get("excluded", ""))
    values["limited"] = limited(params.get("text", "")) if job.code == "limit_range" else ""
    quota = viewer.quotas.get((job.cluster_id, job.queue, flavor, resource))
    if quota is not None:
        values["held"], values["nominal"] = (plain(number) for number in quota)
    return values


def size(job: Workload, flavor: str = "") -> str:
    """Give how much a job asks for: "8 x a100"."""
    if not job.devices:
        return ""
    return f"{plain(job.devices)} {TIMES} {flavor}" if flavor else gpus(job.devices)


def holds(job: Workload) -> str:
    """Give what a running job holds, devices only: "8 x a100"."""
    devices = [row for row in job.held if "/" in str(row.get("resource", ""))]
    return ", ".join(f"{plain(row['amount'])} {TIMES} {visible(row['flavor'])}" for row in devices)


def in_units(text: str, resource: str) -> str:
    """Give a quantity of the cluster in the unit that people use; what cannot be read stays."""
    if not text:
        return ""
    try:
        number = quantity.canonical(text)
    except ValueError:
        return visible(text)
    if resource == CPU:
        return amount_in_words(number * 1000, "cpu")
    return amount_in_words(number, "memory") if resource == MEMORY else plain(number)


def counted(text: str, resource: str) -> str:
    """Give an amount that is a number of the smallest units; what is none is not said."""
    if not text.isdecimal():
        return ""
    if resource == CPU:
        return amount_in_words(int(text), "cpu")
    return amount_in_words(int(text), "memory") if resource == MEMORY else plain(int(text))


def resource_name(resource: str) -> str:
    """Give a resource as people name it."""
    words = {CPU: "CPU", MEMORY: _("memory")}
    return words.get(resource, visible(resource))


def _time(text: str) -> str | SafeString:
    try:
        return moment(datetime.fromisoformat(text)) if text else ""
    except ValueError:
        return visible(text)


# --- the cluster's own words ------------------------------------------------------------------------

_INSIDE = re.compile(
    r"\s*\((?:UID|JobUID)[^)]*\)|[;,]?\s*(?:preemptor|preemptee) path: [^;,]*|(?<![\w.-])/[a-z0-9./_-]{2,}",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")


def cleaned(text: str, viewer: Viewer) -> str:
    """Give the cluster's own words without what the viewer may not read."""
    short = visible(text if len(text) <= LONGEST_RAW else f"{text[:LONGEST_RAW]}…")
    if viewer.sees_all:
        return short
    bare = _INSIDE.sub("", short)
    return _WORD.sub(lambda found: "…" if found[0] in viewer.foreign else found[0], bare)


def words_of(jobs: Iterable[Workload]) -> set[str]:
    """Give every word of the cluster's texts that could be the name of something."""
    return words_in(text for job in jobs for text in _texts(job))


def words_in(texts: Iterable[str]) -> set[str]:
    """Give every word of these texts that could be the name of something."""
    return {word for text in texts for word in _WORD.findall(text)}


def _texts(job: Workload) -> Iterator[str]:
    yield job.raw
    yield from map(str, job.params.values())
    for row in getattr(job, "reasons", None) or ():
        yield str(row.get("raw", ""))
        yield from map(str, (row.get("params") or {}).values())


__all__ = [
    "Figures", "JobShown", "OthersShown", "Viewer", "cleaned", "lines", "reason",
    "shown", "state_of", "words_in", "words_of",
]  # fmt: skip
