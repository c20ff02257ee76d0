"""Reasons of decisions: what a person writes is kept for good, so it has to be readable."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext as _

from kube.names import long_text, says_nothing
from kube.problems import Refused as RefusedValue
from portal.web.errors import Refused
from tenants.sentences import printable, sentence

LONGEST: Final = 2000


class ReasonMissing(Refused):
    """This decision is recorded with a reason."""

    code = "GP-4206"


def readable(reason: str, *, needed: bool = True) -> str:
    """Return a reason as it is kept, with line ends as LF.

    ``ReasonMissing`` where it is ``needed`` and says nothing, ``Refused`` with the code of the
    rule where it is too long or has signs that nobody sees.
    """
    kept = reason.replace("\r\n", "\n").strip(" \n")
    if needed and says_nothing(kept):
        raise ReasonMissing(_("Write why: this decision is kept with its reason."), field="reason")
    try:
        long_text(kept, LONGEST)
    except RefusedValue as error:
        problem = error.at("reason")
        raise Refused(sentence(problem), code=problem.code, field="reason") from None
    return kept


def told(reason: str) -> str:
    """Return what the trail keeps of a reason, also of one that is refused."""
    return str(printable(reason[:LONGEST]))
