"""Findings in words: what is wrong, in a sentence with its numbers, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from costs.models import Discrepancy
from costs.rates import Basis
from costs.reason_texts import BASES, NAMES
from costs.states import Code, Unit
from costs.views.words import hours_text, money_text
from portal.web.wording import visible

#: What a person does about each finding.
TODO: Final = {
    Code.HARVEST_GAP: gettext_lazy(
        "Count the hours again if the cluster's history came later. Otherwise say why the guess "
        "that stands in them is good enough."
    ),
    Code.STUCK_OPEN: gettext_lazy("The middle of the bounds counts. Agree on it with the tenant."),
    Code.OVER_CAPACITY: gettext_lazy(
        "Look for nodes that two flavors match, and for quota above what the nodes have."
    ),
    Code.OVERDRAFT: gettext_lazy("It is charged as what it is. Tell the tenant, then settle it."),
    Code.RUN_OVER_ADMIT: gettext_lazy("Look for jobs whose pods ask for nothing that is counted."),
    Code.ADMIT_NOT_RUNNING: gettext_lazy("Look for pods that could not start. Their tenant pays."),
    Code.UNMANAGED: gettext_lazy("It is charged in full. Bring the namespace under Kueue."),
    Code.UNATTRIBUTED: gettext_lazy("Give the queue or namespace a tenant in the catalog."),
    Code.USED_UNKNOWN: gettext_lazy("Mend the metrics of the nodes; used time is not shown as 0."),
    Code.UNPRICED: gettext_lazy("Set the price in a new version of the price book."),
    Code.RATE_DRIFT: gettext_lazy("Look whether the mix of spot and reserved machines changed."),
    Code.CURRENCY_MISSING: gettext_lazy("Add the rate of the month."),
    Code.ORPHAN_NODE: gettext_lazy("Look for it at the provider; end it if nobody needs it."),
    Code.CLUSTER_NOT_BILLED: gettext_lazy("Wait for a late bill, or take that of its account."),
    Code.OVER_BILLED: gettext_lazy("Look whether it ran without joining, or was stopped."),
    Code.UNDER_BILLED: gettext_lazy("Look for rows that are missing in the bill."),
    Code.FLAVOR_CONFLICT: gettext_lazy("Mend the labels of the node, or those of the flavors."),
    Code.UNTAGGED: gettext_lazy("Set the tag at the provider. Money follows pods and quota."),
    Code.MISTAGGED: gettext_lazy(
        "If one tenant has the whole machine, the tag is right: give it the quota in the catalog. "
        "Else mend the tag: pods are told by Kubernetes."
    ),
    Code.MIG_MISMATCH: gettext_lazy("Look how the devices of the node are cut into slices."),
    Code.SHARED_DEVICE: gettext_lazy("Nothing, if the device is meant to be shared."),
    Code.UNATTRIBUTED_USE: gettext_lazy("Look for a host process, or for labels that are lost."),
    Code.LATE_CORRECTION: gettext_lazy("Book it as a correction of the month that it is about."),
    Code.DOUBLE_SPLIT: gettext_lazy("The whole row counts, its parts are excluded. Confirm that."),
}
Facts = Mapping[str, Any]


def name(code: str) -> str:
    """Name a finding."""
    return str(NAMES.get(Code(code), code))


def todo(code: str) -> str:
    """Say what a person does about a finding."""
    return str(TODO.get(Code(code), ""))


_OF_MACHINES: Final = frozenset(
    {Code.ORPHAN_NODE, Code.CLUSTER_NOT_BILLED, Code.OVER_BILLED, Code.UNDER_BILLED}
)


def sentence(row: Discrepancy) -> str:
    """Explain a finding with its numbers."""
    say = SENTENCES.get(Code(row.code))
    return say(row, row.facts) if say else name(row.code)


def size(row: Discrepancy, value: Decimal, currency: str) -> str:
    """Return a number of a finding in its own unit."""
    match row.unit:
        case Unit.MONEY:
            return f"{money_text(value, currency)} {currency}"
        case Unit.ROWS:
            return f"{int(value):,}"
    # A gap is one of a cluster's time, and a bill counts the hours of whole machines.
    if row.code == Code.HARVEST_GAP:
        shape = _("%(n)s h")
    else:
        shape = _("%(n)s machine-h") if row.code in _OF_MACHINES else _("%(n)s device-h")
    return shape % {"n": hours_text(Fraction(value))}


def _hours(value: Decimal) -> str:
    return hours_text(Fraction(value))


def _gap(row: Discrepancy, facts: Facts) -> str:
    starts, ends = _clock(facts.get("from", "")), _clock(facts.get("to", ""))
    hours = int(facts.get("hours", 0))
    never = int(facts.get("never", 0))
    said = ngettext(
        "Nobody listened to %(cluster)s for %(lost)s of %(n)s hour, %(from)s to %(to)s UTC.",
        "Nobody listened to %(cluster)s for %(lost)s of %(n)s hours, %(from)s to %(to)s UTC.",
        hours,
    ) % {
        "cluster": row.subject.split(" ")[0], "lost": _hours(row.difference), "n": hours,
        "from": starts, "to": ends,
    }  # fmt: skip
    missing = never + int(facts.get("blind", hours))
    if missing < hours:
        said += " " + _("Missing: %(missing)s, partly observed: %(partial)s.") % {
            "missing": missing, "partial": hours - missing
        }  # fmt: skip
    if never:
        said += " " + ngettext(
            "%(n)s of them was never counted.", "%(n)s of them were never counted.", never
        ) % {"n": never}
    return said


def _clock(text: str) -> str:
    try:
        return date_format(datetime.fromisoformat(text), "j M H:i")
    except ValueError:
        return text


def _tenant(facts: Facts) -> str:
    return str(facts.get("tenant") or _("no tenant"))


def _held(text: Any) -> Callable[[Discrepancy, Facts], str]:
    def say(row: Discrepancy, facts: Facts) -> str:
        return str(text) % {
            "tenant": _tenant(facts), "flavor": facts.get("flavor", ""),
            "n": _hours(row.difference), "whole": _hours(row.whole), "hours": facts.get("hours", 0),
        }  # fmt: skip

    return say


def _unattributed(row: Discrepancy, facts: Facts) -> str:
    if "bill" in facts:
        return _("%(n)s of the bill belong to no pool, hour or rule, and stay unallocated.") % {
            "n": row.difference.quantize(Decimal("0.01"))
        }
    return _held(gettext_lazy(
        "Queues and namespaces without a tenant had %(n)s of the %(whole)s device hours of "
        "%(flavor)s."
    ))(row, facts)  # fmt: skip


def _unpriced(row: Discrepancy, facts: Facts) -> str:
    if "policy" in facts:
        return _("No policy holds in %(n)s pool hours, so nobody is charged for them.") % {
            "n": facts.get("hours", 0)
        }
    return _("%(n)s %(basis)s hours of %(flavor)s have no price in the book.") % {
        "n": _hours(row.difference), "basis": _basis(facts),
        "flavor": facts.get("flavor", ""),
    }  # fmt: skip


def _basis(facts: Facts) -> str:
    known = [each for each in Basis if each == facts.get("basis")]
    return str(BASES.get(known[0], known[0])).lower() if known else ""


def _drift(row: Discrepancy, facts: Facts) -> str:
    more = row.difference > 0
    said = _("The bill of %(flavor)s is %(part)s above what the price book says.") if more else _(
        "The bill of %(flavor)s is %(part)s below what the price book says."
    )  # fmt: skip
    part = Fraction(abs(row.difference)) * Fraction(100, 1)
    whole = Fraction(row.whole)
    percent = round(part * Fraction(1, whole)) if whole else 0
    return said % {"flavor": facts.get("flavor", ""), "part": _("%(n)s %%") % {"n": percent}}


def _rows(text: Any) -> Callable[[Discrepancy, Facts], str]:
    def say(row: Discrepancy, facts: Facts) -> str:
        if "rows" not in facts:
            return f"{name(row.code)}: {visible(row.subject)}"
        return str(text) % {"rows": facts.get("rows", 0), "source": facts.get("source", "")}

    return say


def _node(text: Any) -> Callable[[Discrepancy, Facts], str]:
    def say(row: Discrepancy, facts: Facts) -> str:
        node = facts.get("node") or row.subject
        return str(text) % {"node": visible(node), "n": _hours(abs(row.difference))}

    return say


def _tag(row: Discrepancy, facts: Facts) -> str:
    """Say what the tag names and what Kubernetes says: both are shown."""
    node = visible(facts.get("node") or row.subject)
    had = facts.get("tenants") or _("nobody")
    if not facts.get("tag"):
        said = _("%(node)s has no tag of a tenant. Its pods were of: %(had)s.")
        return said % {"node": node, "had": had}
    said = _("The tag of %(node)s says %(tag)s; Kubernetes says that its pods were of: %(had)s.")
    return said % {"node": node, "tag": visible(facts["tag"]), "had": had}


def _slices(row: Discrepancy, facts: Facts) -> str:
    if "devices" in facts:
        said = _(
            "The slices of %(node)s are %(devices)s whole GPUs together, and the bill says that it "
            "has %(gpus)s."
        )
        names = {
            "node": visible(facts.get("node") or row.subject),
            **_only(facts, "devices", "gpus"),
        }
        return said % names
    said = _(
        "Pods of the namespace %(namespace)s asked for %(asked)s and were seen on %(seen)s for "
        "%(n)s hours: %(pods)s of them, such as %(pod)s."
    )
    names = _only(facts, "namespace", "asked", "seen", "pods", "pod")
    return said % {**names, "n": _hours(row.difference)}


def _only(facts: Facts, *names: str) -> dict[str, object]:
    return {name: visible(facts.get(name, "")) for name in names}


def _shared(row: Discrepancy, facts: Facts) -> str:
    said = _(
        "Up to %(pods)s pods had one device of %(node)s at the same time, for %(n)s device hours; "
        "what it did is divided equally among them."
    )
    node = visible(facts.get("node")) or _("an unnamed node")
    return said % {"node": node, "pods": facts.get("pods", 0), "n": _hours(row.difference)}


def _busy(row: Discrepancy, facts: Facts) -> str:
    said = _(
        "Devices of %(node)s did %(n)s hours of work without a pod, in %(whole)s hours that were "
        "seen."
    )
    node = visible(facts.get("node")) or _("an unnamed node")
    return said % {"node": node, "n": _hours(row.difference), "whole": _hours(row.whole)}


def _currency(row: Discrepancy, facts: Facts) -> str:
    return _("The bill is in %(base)s, and no rate to the currency of the book is known.") % {
        "base": facts.get("from", "")
    }


def _gauge(row: Discrepancy, facts: Facts) -> str:
    said = _(
        "Kueue says %(theirs)s hours of %(flavor)s for the queue %(queue)s, our records %(ours)s."
    )
    return said % {
        "theirs": _hours(row.whole), "ours": _hours(row.whole + row.difference),
        "flavor": facts.get("flavor", ""), "queue": facts.get("queue", ""),
    }  # fmt: skip


SENTENCES: Final[Mapping[Code, Callable[[Discrepancy, Facts], str]]] = {
    Code.HARVEST_GAP: _gap,
    Code.INTERVAL_GAP: _gauge,
    Code.UNATTRIBUTED: _unattributed,
    Code.UNPRICED: _unpriced,
    Code.RATE_DRIFT: _drift,
    Code.CURRENCY_MISSING: _currency,
    Code.OVER_CAPACITY: _held(gettext_lazy(
        "In %(hours)s hours %(n)s device hours more of %(flavor)s were taken than there were."
    )),
    Code.STUCK_OPEN: _held(gettext_lazy(
        "Some ends of %(tenant)s on %(flavor)s are only bounded: %(n)s of %(whole)s held hours."
    )),
    Code.OVERDRAFT: _held(gettext_lazy(
        "%(tenant)s held %(n)s hours of %(flavor)s that no quota covers: a quota was lowered "
        "below its use."
    )),
    Code.RUN_OVER_ADMIT: _held(gettext_lazy(
        "Pods of %(tenant)s ran %(n)s hours on %(flavor)s beyond the %(whole)s that are admitted."
    )),
    Code.ADMIT_NOT_RUNNING: _held(gettext_lazy(
        "%(n)s of %(whole)s admitted hours of %(tenant)s on %(flavor)s had no running pod."
    )),
    Code.UNMANAGED: _held(gettext_lazy(
        "Pods of %(tenant)s had %(n)s hours of %(flavor)s without any quota."
    )),
    Code.USED_UNKNOWN: _held(gettext_lazy(
        "%(n)s of %(whole)s running hours of %(tenant)s on %(flavor)s were not measured."
    )),
    Code.ORPHAN_NODE: _node(gettext_lazy(
        "%(node)s was billed for %(n)s hours in which it was not in the cluster."
    )),
    Code.CLUSTER_NOT_BILLED: _node(gettext_lazy(
        "%(node)s was in the cluster for %(n)s hours, and no bill has it."
    )),
    Code.OVER_BILLED: _node(gettext_lazy(
        "%(node)s was billed for %(n)s hours more than it was seen."
    )),
    Code.UNDER_BILLED: _node(gettext_lazy(
        "%(node)s was seen for %(n)s hours more than it was billed."
    )),
    Code.FLAVOR_CONFLICT: _node(gettext_lazy(
        "%(node)s is of no flavor or of several, so its money can be divided among no pool."
    )),
    Code.UNTAGGED: _tag,
    Code.MISTAGGED: _tag,
    Code.MIG_MISMATCH: _slices,
    Code.SHARED_DEVICE: _shared,
    Code.UNATTRIBUTED_USE: _busy,
    Code.LATE_CORRECTION: _rows(gettext_lazy(
        "%(rows)s rows of the bill of %(source)s correct a month that was invoiced before."
    )),
    Code.DOUBLE_SPLIT: _rows(gettext_lazy(
        "%(rows)s rows of the bill of %(source)s are parts of rows that stand in it too."
    )),
}  # fmt: skip
