"""Cases of idle devices in words, for pages and for mails."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy

from costs.models import Case
from portal.web.wording import gpus

_TITLES: Final = {
    Case.Kind.UNHELD: gettext_lazy("%(devices)s of quota not held"),
    Case.Kind.NOT_RUNNING: gettext_lazy("%(devices)s held, not running"),
    Case.Kind.NOT_USED: gettext_lazy("%(devices)s running, not used"),
}
_RULES: Final = {
    Case.Kind.UNHELD: gettext_lazy("In no moment of the last seven days was this part of the quota held."),
    Case.Kind.NOT_RUNNING: gettext_lazy("It has held its quota for more than an hour, and its pods do not run."),
    Case.Kind.NOT_USED: gettext_lazy("In the last three hours the devices were active for less than 1 % of the time."),
}  # fmt: skip


def title(case: Case) -> str:
    """Return what a case is about in a few words."""
    return str(_TITLES[Case.Kind(case.kind)]) % {"devices": gpus(case.devices)}


def rule(case: Case) -> str:
    """Return what was found, in a sentence."""
    return str(_RULES[Case.Kind(case.kind)])


def about(case: Case, *, names: bool) -> str:
    """Return where it is; the name of a job only for who may read it."""
    job = case.workload if names else ""
    return " · ".join(filter(None, [case.queue, job, case.flavor, str(case.cluster)]))
