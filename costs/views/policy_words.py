"""Policies in words: what each switch means for who pays."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from costs.lost import Funder, LostRule
from costs.models import PolicyVersion
from costs.policy import Base, Policy, Rest, Spread
from costs.selectors.prices import switches
from costs.views.words import share_text

BASES: Final = {
    Base.COMMITTED: gettext_lazy("Tenants pay the quota that is committed to them."),
    Base.HELD: gettext_lazy(
        "Tenants pay the time for which they held quota, also before a job was admitted."
    ),
    Base.ADMITTED: gettext_lazy("Tenants pay the time for which their jobs were admitted."),
    Base.USED: gettext_lazy("Tenants pay the time for which their devices were used."),
}
RESTS: Final = {
    Rest.PLATFORM: gettext_lazy("The platform pays for what is left of a pool."),
    Rest.COMMITTED: gettext_lazy("What is left of a pool is paid in proportion to quota."),
    Rest.ADMITTED: gettext_lazy("What is left of a pool is paid in proportion to admitted time."),
    Rest.EVEN: gettext_lazy("What is left of a pool is paid in equal parts."),
}
SHARED: Final = {
    Spread.PLATFORM: gettext_lazy("The platform pays shared costs."),
    Spread.COST: gettext_lazy("Shared costs are paid in proportion to what each tenant pays."),
    Spread.EVEN: gettext_lazy("Shared costs are paid in equal parts."),
}
UNUSED: Final = {
    Spread.PLATFORM: gettext_lazy("The platform pays for commitments that nobody used."),
    Spread.COST: gettext_lazy("Unused commitments are paid in proportion to what each pays."),
    Spread.EVEN: gettext_lazy("Unused commitments are paid in equal parts."),
}
LOST: Final = {
    Funder.TAKER: gettext_lazy(
        "Who takes the place of a job that was within its quota gives back what it has lost, "
        "at most %(minutes)s of its run."
    ),
    Funder.PLATFORM: gettext_lazy(
        "The platform gives back what a job within its quota has lost to one of another tenant, "
        "at most %(minutes)s of its run."
    ),
}


def policy_text(version: PolicyVersion) -> list[str]:
    """Say in sentences what a tenant pays by a policy."""
    policy = switches(version)
    own = sentences(policy)[:3] if policy.base is Base.COMMITTED else sentences(policy)[:1]
    return own + (lost_text(policy.lost) if policy.lost.gives else [])


def whole_text(version: PolicyVersion) -> list[str]:
    """Say all of a policy, also who pays what no tenant has."""
    return sentences(switches(version))


def sentences(policy: Policy) -> list[str]:
    """Say what each switch of a policy means, what tenants pay first."""
    found = [str(BASES[policy.base])]
    if policy.base is Base.COMMITTED:
        part = share_text(policy.borrow)
        found.append(_("Borrowed time costs %(part)s of the rate.") % {"part": part})
        if policy.credit:
            found.append(_("Lenders get what their borrowers pay."))
        else:
            found.append(_("Lenders get nothing for what others borrow."))
    found += [
        str(RESTS[policy.rest]),
        str(SHARED[policy.shared]),
        str(UNUSED[policy.unused]),
        *lost_text(policy.lost),
    ]
    return found


def lost_text(rule: LostRule) -> list[str]:
    """Say what of lost work is given back, and by whom."""
    minutes = ngettext("%(n)s minute", "%(n)s minutes", rule.most // 60) % {"n": rule.most // 60}
    found = [
        _("Nothing is given back for work that is lost to a preemption.")
        if rule.preempted is Funder.NOBODY
        else LOST[rule.preempted] % {"minutes": minutes}
    ]
    if rule.failures:
        sentence = _("The platform gives back what its machines and stopped queues destroy, "
                     "at most %(minutes)s of each run.")  # fmt: skip
        found.append(sentence % {"minutes": minutes})
    else:
        found.append(_("Nothing is given back for work that is lost to machines."))
    return found
