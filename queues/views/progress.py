"""How far a request has come, in steps, and what a person can do next."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from portal.web.parts import Change, Step, StepState
from queues.models import Apply, ObjectResult, Plan, PlanObject
from queues.selectors.requests import Course
from tenants import access
from tenants.models import Request, User
from tenants.sentences import read, sentence

State = Request.State
MOVING = frozenset({State.SUBMITTED, State.APPROVED, State.APPLYING, State.UNKNOWN})
WAYS = {
    "withdraw": ("request.withdraw", frozenset({State.SUBMITTED, State.PLANNED, State.REFUSED})),
    "edit": ("request.edit", frozenset({State.REFUSED})),
    "plan_again": (
        "request.plan_again",
        frozenset({State.STALE, State.CONFLICT, State.STUCK, State.PARTIAL, State.REFUSED}),
    ),
    "abandon": (
        "request.abandon",
        frozenset({State.STALE, State.CONFLICT, State.STUCK, State.PARTIAL}),
    ),
    "keep_theirs": ("plan.keep_theirs", frozenset({State.STALE, State.CONFLICT})),
    "retry": ("apply.retry", frozenset({State.PARTIAL, State.STUCK})),
}


@dataclass(frozen=True, slots=True)
class Told:
    """A problem in words, with the field it belongs to."""

    field: str
    text: str


class Way:
    """One request as its page shows it."""

    def __init__(self, course: Course, viewer: User | AnonymousUser) -> None:
        """Take the rows and the person who looks."""
        self.course, self.viewer = course, viewer
        self.request = course.request

    @property
    def moving(self) -> bool:
        """Tell whether the page will look different soon by itself."""
        apply = self.course.apply
        unseen = bool(apply and apply.state == Apply.State.SUCCEEDED and apply.seen_at is None)
        return self.request.state in MOVING or unseen

    @property
    def stamp(self) -> tuple[object, ...]:
        """Give what moves when the page would look different."""
        apply, plan = self.course.apply, self.course.plan
        results = [(row.pk, row.state) for row in self.course.results]
        return (
            self.request.pk, self.request.version, plan and (plan.pk, plan.version, plan.error),
            apply and (apply.version, apply.seen_at, apply.error), results,
        )  # fmt: skip

    def context(self) -> dict[str, Any]:
        """Return what the template shows."""
        plan = self.course.plan
        sees_plan = access.can(self.viewer, "plan.see", self.request)
        return {
            "request_row": self.request, "plan": plan, "apply": self.course.apply,
            "results": self.course.results, "earlier": self.course.earlier, "steps": self.steps(),
            "moving": self.moving, "ways": self.ways(), "problems": problems(self.request.problems),
            "sees_plan": sees_plan, "changes": changes(plan) if plan else [],
            "what": summary(self.request, plan), "crumbs": crumbs(),
            "may_decide": bool(plan) and access.can(self.viewer, "plan.approve", self.request),
        }  # fmt: skip

    def ways(self) -> dict[str, bool]:
        """Say which ways out are open to the viewer now."""
        state = self.request.state
        editable = self.request.kind == Request.Kind.QUOTA
        return {
            name: state in states
            and access.can(self.viewer, action, self.request)
            and (name != "edit" or editable)
            for name, (action, states) in WAYS.items()
        }

    def steps(self) -> list[Step]:
        """Give the five steps, each with who and when."""
        return [self._asked(), self._planned(), self._decided(), self._applied(), self._seen()]

    def _asked(self) -> Step:
        row = self.request
        return Step(_("Request"), "done", str(row.author), row.created_at)

    def _planned(self) -> Step:
        plan, state = self.course.plan, self.request.state
        if state == State.REFUSED:
            return Step(_("Plan"), "failed", note=_("refused by the checks"))
        if state == State.WITHDRAWN and not (plan and plan.made_at):
            return Step(_("Plan"), "todo", note=_("withdrawn"))
        if plan is None or plan.state == Plan.State.WAITING or state == State.SUBMITTED:
            note = plan.error if plan and plan.error else _("is being made")
            return Step(_("Plan"), "now", note=note)
        url = (
            reverse("plan", args=[plan.pk])
            if access.can(self.viewer, "plan.see", self.request)
            else ""
        )
        return Step(_("Plan"), "done", when=plan.made_at, note=plan.digest[:12], url=url)

    def _decided(self) -> Step:
        decision = getattr(self.course.plan, "decision", None) if self.course.plan else None
        state = self.request.state
        if decision is not None:
            how: StepState = "failed" if decision.verdict == "reject" else "done"
            note = decision.reason or decision.get_verdict_display()
            return Step(_("Decided"), how, str(decision.actor), decision.at, note)
        if state == State.PLANNED:
            return Step(_("Decided"), "now", note=_("waits for somebody else's decision"))
        if state in (State.WITHDRAWN, State.ABANDONED):
            return Step(_("Decided"), "failed", note=self.request.get_state_display())
        return Step(_("Decided"))

    def _applied(self) -> Step:
        apply = self.course.apply
        label = _("Applied")
        if apply is None:
            return Step(label)
        url = reverse("apply", args=[apply.pk])
        if apply.state == Apply.State.SUCCEEDED:
            note = _("revision %(number)d") % {"number": apply.revision.number}
            return Step(label, "done", when=apply.finished_at, note=note, url=url)
        moving = apply.state in (Apply.State.QUEUED, Apply.State.RUNNING, Apply.State.UNKNOWN)
        note = apply.error or apply.get_state_display()
        return Step(label, "now" if moving else "failed", when=apply.started_at, note=note, url=url)

    def _seen(self) -> Step:
        apply, label = self.course.apply, _("In the cluster")
        if apply is None or apply.state != Apply.State.SUCCEEDED:
            return Step(label)
        if apply.seen_at is None:
            return Step(label, "now", note=_("waits to be seen there"))
        return Step(label, "done", when=apply.seen_at)


def crumbs() -> list[dict[str, str]]:
    """Return the way back."""
    return [{"label": _("Requests"), "url": reverse("requests")}]


def problems(rows: list[dict[str, Any]]) -> list[Told]:
    """Return stored problems in words; the cluster's own text stays as it is."""
    return [Told(str(row.get("field", "")), sentence(read(row))) for row in rows]


def changes(plan: Plan) -> list[Change]:
    """Return every changed field of a plan, object by object."""
    return [change for row in plan.planned.all() for change in changes_of(row)]


def changes_of(row: PlanObject) -> list[Change]:
    """Return the changed fields of one object, devices before CPU and memory."""
    if row.operation == PlanObject.Operation.SAME:
        return []
    kind = "+" if row.operation == PlanObject.Operation.CREATE else "~"
    found = sorted(
        row.changes, key=lambda each: "[cpu]" in each["path"] or "[memory]" in each["path"]
    )
    return [
        Change(str_of(row), path_in_words(each["path"]), each["before"], each["after"], kind)
        for each in found
    ]


_QUOTA = re.compile(
    r"spec\.resourceGroups\[[^\]]*\]\.flavors\[([^\]]+)\]\.resources\[([^\]]+)\]\.(\w+)"
)
_WORDS = {
    "nominalQuota": _lazy("quota"),
    "borrowingLimit": _lazy("borrowing limit"),
    "lendingLimit": _lazy("lending limit"),
}


def path_in_words(path: str) -> str:
    """Shorten the path of a quota to what people call it; every other path stays as it is."""
    match = _QUOTA.fullmatch(path)
    if match is None:
        return path
    flavor, resource, part = match.groups()
    return f"{flavor} · {resource} · {_WORDS.get(part, part)}"


def str_of(row: PlanObject) -> str:
    """Name an object: kind, namespace where there is one, name."""
    return " ".join(
        filter(None, [row.kind, f"{row.namespace}/{row.name}" if row.namespace else row.name])
    )


def summary(request: Request, plan: Plan | None = None) -> list[str]:
    """Say in words what a request asks for; CPU and memory follow and are not repeated."""
    today = _found(plan) if plan else {}
    return [text for edit in request.edits if (text := _edit_in_words(edit, today))]


def _found(plan: Plan) -> dict[tuple[str, str, str], Any]:
    """Return today's quotas of what a plan changes, by queue, flavor and resource."""
    return {
        (row.name, match[1], match[2]): each["before"]
        for row in plan.planned.all()
        for each in row.changes
        if (match := _QUOTA.fullmatch(each["path"])) and match[3] == "nominalQuota"
    }


def _edit_in_words(edit: dict[str, Any], today: dict[tuple[str, str, str], Any]) -> str:
    if edit.get("edit") == "set_quota":
        return _quota_in_words(edit, today)
    if edit.get("edit") == "set_stop_policy":
        said = _POLICIES.get(str(edit.get("policy")), _("queue %(name)s: another stop policy"))
        return said % {"name": edit.get("queue", "")}
    if edit.get("edit") == "put_tenant":
        return _("tenant %(name)s") % {"name": edit.get("slug", "")}
    for name, words in _KINDS.items():
        if edit.get("edit") == f"put_{name}":
            return words % {"name": (edit.get(name) or {}).get("name", "")}
    return _("a whole catalog")


_KINDS = {
    "queue": _lazy("queue %(name)s with all its values"),
    "flavor": _lazy("flavor %(name)s with all its values"),
    "cohort": _lazy("department %(name)s with all its values"),
    "topology": _lazy("topology %(name)s"),
    "priority": _lazy("priority %(name)s"),
}
_POLICIES = {
    "None": _lazy("queue %(name)s takes jobs again"),
    "Hold": _lazy("queue %(name)s takes no new jobs; what runs goes on"),
    "HoldAndDrain": _lazy("queue %(name)s takes no new jobs, and what runs is stopped"),
}


def _quota_in_words(edit: dict[str, Any], today: dict[tuple[str, str, str], Any]) -> str:
    if edit.get("resource") in ("cpu", "memory"):
        return ""
    facts = {"queue": edit["queue"], "flavor": edit["flavor"], "nominal": edit["nominal"]}
    before = today.get((edit["queue"], edit["flavor"], edit["resource"]))
    if before is None:
        return _("%(queue)s: %(nominal)s GPUs of %(flavor)s") % facts
    said = _("%(queue)s: %(nominal)s GPUs of %(flavor)s instead of %(before)s")
    return said % (facts | {"before": before})


def result_rows(results: list[ObjectResult]) -> list[dict[str, Any]]:
    """Return the results with their objects' names and both values where they differ."""
    return [
        {
            "name": str_of(row.object), "row": row, "operation": row.object.get_operation_display(),
            "found": [Change(str_of(row.object), f.get("path", ""), f.get("after"), f.get("before"), "~")
                      for f in (row.found or []) if isinstance(f, dict)],
        }
        for row in results
    ]  # fmt: skip
