"""Tells the owner of idle devices by mail what is asked: one message for each question.

The row of the case is the queue: a question is taken by moving its next try ahead, so that two
workers never send the same one, and one whose worker dies is tried again. Then its message can
come twice; it has the same id, by which mail servers know it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from smtplib import SMTPException
from typing import Final
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import F
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from costs.models import Case
from costs.sentences import about, rule, title
from costs.times import instant
from tenants import audit
from tenants.models import Membership, User

log = structlog.get_logger(__name__)

#: A question that is older is not told any more: mails were off, or the server was away.
LATEST: Final = timedelta(days=7)
#: After each try the next one waits twice as long, up to the second.
FIRST, LONGEST = timedelta(minutes=2), timedelta(hours=6)
#: Questions of one turn: each may wait for the mail server.
TURN: Final = 5


def due(now: datetime | None = None) -> list[int]:
    """Return the questions that are to be told; none while mails are off."""
    if not settings.MAIL_IS_ON:
        return []
    now = now or timezone.now()
    rows = Case.objects.filter(
        state=Case.State.ASKED, told_at=None, tell_after__lte=now, asked_at__gt=now - LATEST
    )
    return list(rows.order_by("tell_after").values_list("pk", flat=True)[:TURN])


def tell(case_id: int, now: datetime | None = None) -> bool:
    """Send the mail of one question; False if it is not due, or the server did not take it."""
    now = now or timezone.now()
    if not _take(case_id, now):
        return False
    case = Case.objects.select_related("tenant", "cluster", "asked_by").get(pk=case_id)
    people = owners(case)
    if people:
        try:
            message(case, people).send()
        except (SMTPException, OSError) as error:
            # The text of the error may hold addresses.
            log.warning("mail_not_sent", case=case_id, error=type(error).__name__)
            return False
    _told(case, len(people), now)
    return True


def _take(case_id: int, now: datetime) -> bool:
    """Move the next try ahead; False if somebody else has."""
    rows = Case.objects.filter(
        pk=case_id, state=Case.State.ASKED, told_at=None, tell_after__lte=now
    )
    tries = rows.values_list("tell_tries", flat=True).first()
    if tries is None:
        return False
    wait = min(LONGEST, FIRST * 2 ** min(tries, 16))
    taken = rows.filter(tell_tries=tries)
    return bool(taken.update(tell_after=now + wait, tell_tries=F("tell_tries") + 1))


def owners(case: Case) -> list[User]:
    """Return who is told: lead and finance of the tenant, as far as they have an address."""
    roles = (Membership.Role.LEAD, Membership.Role.FINANCE)
    rows = User.objects.filter(
        memberships__tenant=case.tenant_id, memberships__role__in=roles, is_active=True
    )
    return list(rows.exclude(email="").distinct().order_by("username"))


def message(case: Case, people: list[User]) -> EmailMessage:
    """Return the mail, in the language of the portal; it names no job."""
    url = settings.PUBLIC_URL + reverse("case", args=[case.tenant.slug, case.pk])
    host = urlsplit(settings.PUBLIC_URL).hostname or "localhost"
    asked = instant(case.asked_at) if case.asked_at else 0
    with translation.override(settings.LANGUAGE_CODE):
        facts = {
            "case": case, "title": title(case), "rule": rule(case), "url": url,
            "about": about(case, names=False),
        }  # fmt: skip
        subject = _("%(tenant)s: %(title)s") % {"tenant": case.tenant, "title": title(case)}
        return EmailMessage(
            subject=" ".join(subject.split()), body=render_to_string("costs/mail/asked.txt", facts),
            to=sorted({each.email for each in people}),
            headers={"Message-ID": f"<case-{case.pk}-{asked}@{host}>", "Auto-Submitted": "auto-generated"},
        )  # fmt: skip


def _told(case: Case, people: int, now: datetime) -> None:
    # Not if it was asked anew meanwhile: that is another question.
    same = Case.objects.filter(pk=case.pk, asked_at=case.asked_at)
    same.update(told_at=now, told_to=people)
    data = {"case": str(case), "people": people}
    audit.record("case.told", actor=None, scope=audit.scope_of(case.tenant), obj=case, data=data)
