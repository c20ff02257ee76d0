"""What can go wrong between the portal and an API server: one class per right reaction.

Every error says whether another try can help (``retry``), whether a write may have happened
all the same (``outcome_unknown``), which fields of the object it speaks of
(``field_problems()``), and a stable code. How an answer becomes one of these classes is in
``kube/classify.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

MESSAGE_LIMIT = 2000
_SECRETS = re.compile(r"(?i)(bearer\s+)[A-Za-z0-9._~+/=-]+|eyJ[A-Za-z0-9_-]{8,}[A-Za-z0-9._-]*")
_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def one_line(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """Return foreign text as one printable line of at most ``limit`` bytes, without tokens."""
    head = text[: limit * 4]
    head = _SECRETS.sub(lambda found: f"{found.group(1) or ''}***", head)
    head = _BREAKS.sub(" ", head)
    head = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in head.strip())
    data = head.encode("utf-8", "replace")
    if len(data) <= limit and len(text) <= limit * 4:
        return data.decode("utf-8")
    return data[: limit - 4].decode("utf-8", "ignore").rstrip() + " ..."


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One complaint of the cluster about one field (``""`` when it names none)."""

    field: str
    text: str


class ClusterError(Exception):
    """Any failure of a call to a cluster."""

    code: ClassVar[str] = "GP-3100"
    retry: bool = False
    retry_after: float | None = None
    outcome_unknown: bool = False

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        problems: tuple[FieldProblem, ...] = (),
        retry: bool | None = None,
        retry_after: float | None = None,
        outcome_unknown: bool | None = None,
    ) -> None:
        """Keep the message as one safe line, and what the class default does not say."""
        self.message = one_line(message)
        self.status = status
        self.problems = problems
        if retry is not None:
            self.retry = retry
        if retry_after is not None:
            self.retry_after = retry_after
        if outcome_unknown is not None:
            self.outcome_unknown = outcome_unknown
        super().__init__(f"{self.code} {self.message}")

    def field_problems(self) -> list[tuple[str, str]]:
        """Return (field path, text) for each field that the cluster complained about."""
        return [(problem.field, problem.text) for problem in self.problems]


class Conflict(ClusterError):
    """HTTP 409: the object is not what the writer believed."""

    code = "GP-3101"


@dataclass(frozen=True, slots=True)
class Owner:
    """A field that another field manager owns."""

    manager: str
    field: str


class FieldConflict(Conflict):
    """Another field manager owns a field with another value."""

    code = "GP-3102"

    def __init__(
        self, message: str, *, conflicts: tuple[Owner, ...] = (), status: int | None = 409
    ) -> None:
        """Keep who owns which field."""
        self.conflicts = conflicts
        problems = tuple(
            FieldProblem(owner.field.removeprefix("."), f"owned by {owner.manager}")
            for owner in conflicts
        )
        super().__init__(message, status=status, problems=problems)


class UidMismatch(Conflict):
    """The object was deleted, or deleted and made anew, since its uid was recorded."""

    code = "GP-3103"


class Modified(Conflict):
    """The object changed since its resourceVersion was read, or exists already."""

    code = "GP-3104"


class Refused(ClusterError):
    """The cluster understood the object and does not want it."""

    code = "GP-3105"


class SchemaRefused(Refused):
    """The schema of the kind, or a rule written in it, forbids the object (422)."""

    code = "GP-3106"


class WebhookRefused(Refused):
    """An admission webhook denied the request (403), or could not read the object (400)."""

    code = "GP-3107"

    def __init__(
        self,
        message: str,
        *,
        webhook: str,
        status: int | None = 403,
        problems: tuple[FieldProblem, ...] = (),
    ) -> None:
        """Keep the name of the webhook."""
        self.webhook = webhook
        super().__init__(message, status=status, problems=problems)


class PolicyRefused(Refused):
    """An admission policy or plugin of the cluster denied the request."""

    code = "GP-3108"

    def __init__(
        self,
        message: str,
        *,
        policy: str = "",
        binding: str = "",
        reason: str = "",
        status: int | None = 422,
    ) -> None:
        """Keep which policy spoke; ``reason`` is its own text without the frame."""
        self.policy = policy
        self.binding = binding
        self.reason = reason or message
        problems = (FieldProblem("", one_line(self.reason)),)
        super().__init__(message, status=status, problems=problems)


class Forbidden(ClusterError):
    """The portal's identity lacks a right (403 by RBAC)."""

    code = "GP-3109"

    def __init__(
        self,
        message: str,
        *,
        user: str = "",
        verb: str = "",
        resource: str = "",
        namespace: str = "",
        status: int | None = 403,
    ) -> None:
        """Keep which right is missing."""
        self.user, self.verb, self.resource, self.namespace = user, verb, resource, namespace
        super().__init__(message, status=status)


class BadRequest(ClusterError):
    """The request itself is malformed (400, 405, 406, 413, 415)."""

    code = "GP-3110"


class ProgrammingError(BadRequest):
    """The portal sent something no valid catalog can produce: a defect, never retried."""

    code = "GP-3111"


class Terminating(ClusterError):
    """The object, or its namespace, is being deleted; what was written goes with it."""

    code = "GP-3112"


class NotFound(ClusterError):
    """The object does not exist."""

    code = "GP-3113"


class NamespaceMissing(NotFound):
    """The namespace in which the object would live does not exist yet."""

    code = "GP-3114"


class KindMissing(ClusterError):
    """The cluster does not know the kind: its CRD or API server is not installed."""

    code = "GP-3115"


class Credential(ClusterError):
    """The cluster does not accept the portal's credential (401)."""

    code = "GP-3116"


class Unreachable(ClusterError):
    """No answer, and nothing was written: name, network, connection or read time-out."""

    code = "GP-3117"
    retry = True


class TlsError(Unreachable):
    """Somebody answered, but not with a certificate that the cluster's CA vouches for."""

    code = "GP-3118"
    retry = False


class Unknown(ClusterError):
    """A write was sent and its answer is lost: it may or may not have happened. Read back."""

    code = "GP-3119"
    outcome_unknown = True


class Throttled(ClusterError):
    """The cluster asks to wait (429)."""

    code = "GP-3120"
    retry = True


class Unavailable(ClusterError):
    """The cluster has trouble of its own (500, 502, 503, 504)."""

    code = "GP-3121"
    retry = True


class WebhookDown(Unavailable):
    """A webhook that the cluster must ask (Kueue's, most often) does not answer."""

    code = "GP-3122"

    def __init__(
        self,
        message: str,
        *,
        webhook: str = "",
        status: int | None = 500,
        retry_after: float | None = None,
    ) -> None:
        """Keep the name of the webhook; nothing was written."""
        self.webhook = webhook
        super().__init__(message, status=status, retry_after=retry_after)


class Protocol(ClusterError):
    """The answer is cut short, too large, redirected or no JSON."""

    code = "GP-3123"
    retry = True


class Gone(ClusterError):
    """A list or watch position that the cluster no longer has, or not yet (410, 504)."""

    code = "GP-3124"
    retry = True


class NotVisible(ClusterError):
    """The cluster runs no visibility API, or Kueue does not answer for it."""

    code = "GP-3125"
    retry = True


ERRORS: tuple[type[ClusterError], ...] = (
    ClusterError,
    Conflict,
    FieldConflict,
    UidMismatch,
    Modified,
    Refused,
    SchemaRefused,
    WebhookRefused,
    PolicyRefused,
    Forbidden,
    BadRequest,
    ProgrammingError,
    Terminating,
    NotFound,
    NamespaceMissing,
    KindMissing,
    Credential,
    Unreachable,
    TlsError,
    Unknown,
    Throttled,
    Unavailable,
    WebhookDown,
    Protocol,
    Gone,
    NotVisible,
)
