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
    def limits(self) -> list[BoundField]:
        """Give the fields of the limits, where the queue has any."""
        return [each for each in (self.row.borrowing_limit, self.row.lending_limit) if each]


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
        self.answered = False
        self.partial = "preview" if "preview" in request.POST else "form"

    def _form(self, sent: Any) -> QuotaRequestForm:
        initial = dict(asked(self.again)) if self.again else self.request.GET.dict()
        if self.again:
            initial["reason"] = self.again.reason
        return QuotaRequestForm(
            sent, catalog=self.catalog, tenant=self.tenant.slug, initial=initial
        )

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
        readable = self.form.is_valid() or not set(self.form.errors) - {"reason", "__all__"}
        return self.form.proposal() if readable else None

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
            "reason_problems": [sentence_of(row) for row in self.again.problems] if self.again else [],
        }  # fmt: skip

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
        if self.request.method != "POST":
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
