"""The brake on signing in: each try costs more time, nobody is locked out for good.

Two counts: one for a name from an address, one for an address alone. They lie in the database,
so a restart forgets nothing and all processes share them. A name alone has no count: then
anybody could keep its owner out.
"""

from __future__ import annotations

import ipaddress
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final

from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import ngettext

from portal.web.errors import NotAllowed
from tenants.models import SignInBrake

FREE_FOR_PAIR: Final = 5
FREE_FOR_ADDRESS: Final = 50
LONGEST_WAIT: Final = timedelta(minutes=15)
FORGOTTEN_AFTER: Final = timedelta(hours=1)


class TooManyTries(NotAllowed):
    """Come back a little later."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "GP-1306"
    keep = False

    def __init__(self, until: datetime) -> None:
        seconds = max(1, round((until - timezone.now()).total_seconds()))
        # The brake also holds whoever guesses the old password: the words speak of neither.
        sentence = ngettext(
            "Too many tries from here. Try again in %(n)s second.",
            "Too many tries from here. Try again in %(n)s seconds.",
            seconds,
        )
        super().__init__(sentence % {"n": seconds}, details={"seconds": seconds})


@transaction.atomic(durable=True)
def take(*, name: str, address: str) -> None:
    """Count one try, or refuse it while an earlier one still costs time."""
    now = timezone.now()
    pair, alone = _keys(name, address)
    fresh = [SignInBrake(key=key, last_at=now) for key in (pair, alone)]
    SignInBrake.objects.bulk_create(fresh, ignore_conflicts=True)
    rows = SignInBrake.objects.select_for_update().filter(key__in=(pair, alone)).order_by("key")
    found = {row.key: row for row in rows}
    running = [row.until for row in found.values() if row.until and row.until > now]
    if running:
        raise TooManyTries(max(running))
    for key, free in ((pair, FREE_FOR_PAIR), (alone, FREE_FOR_ADDRESS)):
        row = found[key]
        tries = 1 if now - row.last_at > FORGOTTEN_AFTER else row.tries + 1
        row.tries, row.last_at, row.until = tries, now, _until(now, tries - free)
        row.save(update_fields=["tries", "last_at", "until"])


@transaction.atomic
def release(*, name: str, address: str) -> None:
    """Forget the tries of a person who has signed in, and counts that are long over."""
    now = timezone.now()
    pair, alone = _keys(name, address)
    SignInBrake.objects.filter(key=pair).delete()
    row = SignInBrake.objects.select_for_update().filter(key=alone).first()
    if row and row.tries:
        row.tries -= 1
        row.until = _until(now, row.tries - FREE_FOR_ADDRESS)
        row.save(update_fields=["tries", "until"])
    SignInBrake.objects.filter(last_at__lt=now - FORGOTTEN_AFTER * 24).delete()


def _until(now: datetime, over: int) -> datetime | None:
    if over <= 0:
        return None
    return now + min(timedelta(seconds=2 ** min(over, 20)), LONGEST_WAIT)


def _keys(name: str, address: str) -> tuple[str, str]:
    """Return the two keys, hashed: the table is no list of who tried from where."""
    network = _network(address)
    return _hash(f"pair {network} {name}"), _hash(f"address {network}")


def _network(address: str) -> str:
    """Return the address; of IPv6 the part that one customer has, or counting is in vain."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


def _hash(text: str) -> str:
    return salted_hmac("tenants.brake", text, algorithm="sha256").hexdigest()
