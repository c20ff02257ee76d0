"""Sessions that know their person: one query says who asks, whether they still may, and their roles."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, cast

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db
from django.db import connection
from django.utils import timezone

from tenants import access
from tenants.models import Session, User

# The roles of one person as a JSON list of (role, tenant id or null).
_ROLES = """
SELECT json_agg(json_build_array(held.role, held.tenant_id)) FROM (
    SELECT role, tenant_id FROM tenants_membership WHERE user_id = {user}
    UNION ALL SELECT role, NULL FROM tenants_platformrole WHERE user_id = {user}
) held
"""
# A session without a person is one as well: it holds what is said after signing out.
_READ = """SELECT s.session_data, s.expire_date, ({roles})::text, {columns}
FROM tenants_session s LEFT JOIN tenants_user u ON u.id = s.user_id
WHERE s.session_key = %s AND s.expire_date > %s
"""


class SessionStore(db.SessionStore):
    """Rows of ``Session``. Nothing is cached: a session that is deleted is over at once."""

    def __init__(self, session_key: str | None = None) -> None:
        """Know no person before the row is read."""
        super().__init__(session_key)
        self.person: User | None = None

    @classmethod
    def get_model_class(cls) -> type[Session]:
        """Give the table."""
        return Session

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        """Write the person into a column of its own."""
        row = cast(Session, super().create_model_instance(data))
        user_id = str(data.get(SESSION_KEY, ""))
        row.user_id = int(user_id) if user_id.isdecimal() else None
        return row

    def _get_session_from_db(self) -> Session | None:
        """Read the row, and with it the person and their roles of this moment."""
        with connection.cursor() as cursor:
            cursor.execute(_read(), [self.session_key, timezone.now()])
            found = cursor.fetchone()
        if found is None:
            self._session_key = None
            return None
        data, expires, roles, *person = found
        if person[0] is not None:
            self.person = User.from_db(connection.alias, _names(), person)
            access.remember(self.person, json.loads(roles or "[]"))
        return Session(session_key=str(self.session_key), session_data=data, expire_date=expires)


@lru_cache(maxsize=1)
def _names() -> tuple[str, ...]:
    return tuple(field.attname for field in User._meta.concrete_fields)


@lru_cache(maxsize=1)
def _read() -> str:
    columns = ", ".join(f'u."{field.column}"' for field in User._meta.concrete_fields)
    return _READ.format(columns=columns, roles=_ROLES.format(user="u.id"))
