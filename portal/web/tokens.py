"""One-time keys for forms and API calls: the same key twice is the same act.

The key itself proves nothing. The service that changes something stores it, unique per person,
so that a double click, a browser's retry and a repeated API call end in one row.
"""

import re
import secrets

from django.http import HttpRequest
from django.utils.translation import gettext as _

from portal.web.errors import Refused

FIELD = "form_key"
HEADER = "Idempotency-Key"
SHAPE = re.compile(r"[A-Za-z0-9_-]{16,64}")


def new_key() -> str:
    """Return a fresh key for a form that is about to be shown."""
    return secrets.token_urlsafe(24)


def form_key(request: HttpRequest) -> str:
    """Return the key that came with a form or an API call, or refuse."""
    key = request.headers.get(HEADER) or request.POST.get(FIELD, "")
    if not SHAPE.fullmatch(key):
        sentence = _("This form has no key, or a broken one. Reload the page and send it again.")
        raise Refused(sentence, code="GP-1410", status=400)
    return key
