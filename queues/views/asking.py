"""The form of a quota request with today's numbers, and its preview. No cluster is called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.forms import BoundField
from django.http import Http404, HttpRequest
from django.utils.functional import cached_property

from kube.catalog import CPU, MEMORY, Catalog
from kube.diff import diff_lists
from kube.edits import SetQuota, load_edits
from kube.problems import Problem
from kube.render import render
from portal.web.errors import DomainError
from portal.web.parts import Change
from portal.web.tokens import form_key, new_key
from queues import access as own
from queues.models import Workload
from queues.selectors.freshness import freshness
from queues.selectors.tenants import LineNow, tenant_queues
from queues.services import capacity
from queues.views.answers import oldest, person
from queues.views.progress import path_in_words
from tenants.forms import QuotaRequestForm
from tenants.forms.quota import Row
from tenants.models import Cluster, Request, Tenant
from tenants.sentences import read, sentence
from tenants.services import requests as service
from tenants.services.catalog import head
from tenants.services.proposals import Proposal
from tenants.services.requests import Invalid


@dataclass(frozen=True, slots=True)
class Shown:
    """A row of the form: fields, and the numbers of this moment beside them."""

    row: Row
    now: LineNow | None
    cpu: int | None
    memory: int | None

    @property
    def limits(self) -> list[tuple[BoundField, Any]]:
        """Give the fields of the limits, where the queue has any, with the words of today."""
        row, today = self.row, self.row.offer.today
        fields = (
            (row.borrowing_limit, today.borrowing_limit),
            (row.lending_limit, today.lending_limit),
        )
        return [(each, each.field.prepare_value(value)) for each, value in fields if each]

    @property
    def opened(self) -> bool:
        """Say whether the limits are to be seen at once: something is new or wrong there."""
        return any(each.errors or each.initial != today for each, today in self.limits)


class Asking:
    """One visit to the form: what was sent, what it would do, what to show."""

    def __init__(
        self, request: HttpRequest, tenant: Tenant | None, again: Request | None = None
    ) -> None:
        """Read the form; ``again`` is a refused request that is being corrected."""
        if tenant is None:
            raise Http404
        self.request, self.tenant, self.again = request, tenant, again
        self.clusters = clusters_of(tenant)
        self.cluster = again.cluster if again else self._chosen()
        self.catalog = head(self.cluster) if self.cluster else Catalog()
        sent = request.POST if request.method == "POST" else None
        self.form = self._form(sent)
        # A link can fill in the form; nothing is sent before somebody sends it.
        fresh = again is None and sent is None
        self.filled, self.unused = self.form.fill_in(request.GET) if fresh else ([], [])
        self.answered = False
        self.partial = "preview" if "preview" in request.POST else "form"

    def _form(self, sent: Any) -> QuotaRequestForm:
        initial = dict(asked(self.again)) if self.again else {}
        if self.again:
            initial["reason"] = self.again.reason
        return QuotaRequestForm(
            sent, catalog=self.catalog, tenant=self.tenant.slug, initial=initial
        )

    @cached_property
    def tried(self) -> QuotaRequestForm | None:
        """Return the form whose numbers are worked out: the one sent, or the one filled in."""
        if self.form.is_bound:
            return self.form
        return self._form(self.form.as_sent()) if self.filled else None

    def _chosen(self) -> Cluster | None:
        wanted = self.request.GET.get("cluster", "")
        named = [cluster for cluster in self.clusters if cluster.slug == wanted]
        return next(iter(named or self.clusters), None)

    def valid(self) -> bool:
        """Tell whether every field could be read, and look at what the numbers would do."""
        return self.form.is_valid() and self.proposal is not None

    @cached_property
    def proposal(self) -> Proposal | None:
        """Work out what the catalog would become; nothing where a number cannot be read.

        It has to be asked before problems are put beside fields: those take their values away.
        """
        form = self.tried
        if form is None:
            return None
        readable = form.is_valid() or not set(form.errors) - form.not_numbers
        return form.proposal() if readable else None

    def submit(self) -> Request:
        """Store the request."""
        if self.cluster is None:
            raise Http404
        return service.submit(
            actor=person(self.request), cluster=self.cluster, tenant=self.tenant,
            kind=Request.Kind.QUOTA, edits=self.form.edits(),
            reason=self.form.cleaned_data["reason"], key=form_key(self.request),
        )  # fmt: skip

    def resubmit(self) -> Request:
        """Send the corrected request again."""
        if self.again is None:
            raise Http404
        return service.resubmit(
            actor=person(self.request), request=self.again, edits=self.form.edits(),
            reason=self.form.cleaned_data["reason"],
        )  # fmt: skip

    def refused(self, refusal: DomainError) -> None:
        """Put what the rules say beside its field."""
        self.answered = True
        if isinstance(refusal, Invalid):
            self.form.take(refusal.problems)
        else:
            self.form.add_error(None, str(refusal.message))

    def context(self) -> dict[str, Any]:
        """Return what the template shows."""
        preview = self._preview()
        if self.proposal_errors and not self.answered:
            self.form.take(self.proposal_errors)
        ages = freshness([self.cluster.pk] if self.cluster else [])
        return {
            "tenant": self.tenant, "cluster": self.cluster, "clusters": self.clusters,
            "form": self.form, "rows": self._rows(), "again": self.again,
            "form_key": self.request.POST.get("form_key") or new_key(),
            "preview": preview, "ages": oldest(ages),
            "filled": self.filled, "unused": self.unused, "job": self._job(),
            "reason_problems": [sentence_of(row) for row in self.again.problems] if self.again else [],
        }  # fmt: skip

    def _job(self) -> Workload | None:
        """Return the job for which a link has filled in the form, if this person may see it."""
        namespace, _slash, name = self.request.GET.get("job", "").partition("/")
        if not name or self.cluster is None:
            return None
        try:
            return own.job(own.sight(person(self.request)), namespace, name, self.cluster.slug)
        except Http404:
            return None

    def _rows(self) -> list[Shown]:
        now = {
            (each.queue.name, line.line.flavor): line
            for each in tenant_queues(self.tenant) if each.queue.cluster_id == getattr(self.cluster, "pk", None)
            for line in each.devices
        }  # fmt: skip
        return [
            Shown(
                row, now.get((row.offer.queue.name, row.offer.flavor.name)),
                row.offer.ratio[CPU], row.offer.ratio[MEMORY],
            )
            for row in self.form.rows
        ]  # fmt: skip

    def _preview(self) -> dict[str, Any] | None:
        """Work out what the catalog would become and which fields of which objects change."""
        if self.tried is None:
            return None
        proposal = self.proposal
        if proposal is None:
            return {"unreadable": True}
        if not proposal.changes:
            return {"nothing": True, "errors": told(proposal.errors)}
        before = [dict(each.body) for each in render(proposal.before)]
        after = [dict(each.body) for each in render(proposal.after)]
        changes = [
            Change(str(c.ref), path_in_words(c.path), c.before, c.after, c.kind)
            for c in diff_lists(before, after)
        ]
        return {
            "errors": told(proposal.errors), "warnings": told(proposal.warnings),
            "changes": changes, "capacity": self._capacity(proposal),
        }  # fmt: skip

    @property
    def status(self) -> int:
        """Give the status of the answer: a form that comes back was not accepted."""
        return 422 if self.request.method == "POST" and "preview" not in self.request.POST else 200

    @property
    def proposal_errors(self) -> tuple[Problem, ...]:
        """Give what the rules have against the numbers that were sent."""
        sent = self.request.method == "POST" and self.proposal is not None
        return self.proposal.errors if sent and self.proposal else ()

    def _capacity(self, proposal: Proposal) -> list[dict[str, Any]]:
        if self.cluster is None:
            return []
        was = {
            row["flavor"]: row["committed"] for row in capacity.facts(self.cluster, proposal.before)
        }
        rows = capacity.facts(self.cluster, proposal.after)
        return [
            row | {"was": was.get(row["flavor"], 0), "over": max(0, -(row["free"] or 0))}
            for row in rows
            if row["committed"] != was.get(row["flavor"], 0)
        ]


def told(problems: Any) -> list[str]:
    """Return problems as sentences."""
    return [sentence(each) for each in problems]


def sentence_of(row: dict[str, Any]) -> str:
    """Return a stored problem as a sentence."""
    return sentence(read(row))


def asked(request: Request) -> Iterator[tuple[str, Any]]:
    """Yield the fields of the form that say what a request asked for."""
    for each in load_edits(request.edits):
        if isinstance(each, SetQuota) and each.resource not in (CPU, MEMORY):
            stem = f"{each.queue}/{each.flavor}"
            yield f"{stem}/nominal", each.nominal
            yield f"{stem}/borrowing_limit", each.borrowing_limit
            yield f"{stem}/lending_limit", each.lending_limit


def clusters_of(tenant: Tenant) -> list[Cluster]:
    """Return the clusters in which a tenant has queues."""
    return list(Cluster.objects.filter(queues__tenant=tenant).distinct().order_by("slug"))
