"""From an HTTP answer, or the lack of one, to the error class that names the right reaction.

Pure: no network, no clock. The texts that are looked for are those of Kubernetes 1.35 and
Kueue; each was seen on a real API server (see ``tests/kube/test_classify.py``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from kube import errors
from kube.errors import ClusterError, FieldProblem, Owner, one_line

Phase = Literal["connect", "tls", "sent", "body", "answered"]

_NOISE = "some validation rules were not checked"
_WEBHOOK = re.compile(
    r'admission webhook "(?P<name>[^"]+)" denied the request:?\s*(?P<text>.*)', re.S
)
_WEBHOOK_DOWN = re.compile(r'failed calling webhook "(?P<name>[^"]+)"')
_POLICY = re.compile(
    r"ValidatingAdmissionPolicy '(?P<policy>[^']+)' with binding '(?P<binding>[^']+)' "
    r"denied request: (?P<text>.*)",
    re.S,
)
_RBAC = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) (?:resource|path) "(?P<resource>[^"]*)"'
    r'(?: in API group "(?P<group>[^"]*)")?(?: in the namespace "(?P<namespace>[^"]*)")?'
)
_CONFLICT = re.compile(r'conflict with "(?P<manager>[^"]+)"')
_MISSING_NAMESPACE = re.compile(r'^namespaces "[^"]*" not found$')
_MISSING_OBJECT = re.compile(r'^\S+ "[^"]+" not found$')
_DIRECT_FIELDS = re.compile(r"\.(?P<field>spec\.\S+|metadata\.\S+): (?P<text>.*)", re.S)
_UNKNOWN_FIELD = re.compile(r'unknown field "(?P<field>[^"]+)"')
_TYPES = (
    "Invalid value|Duplicate value|Required value|Unsupported value|Forbidden|Too long|Too many"
    "|Too few|Not found|Internal error|Type invalid"
)
_PROBLEM = re.compile(
    rf"^(?P<field>[A-Za-z][^\s:,\[]*(?:\[[^\]]*\][^\s:,\[]*)*): (?P<text>(?:{_TYPES})\b.*)", re.S
)


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP error as read: the text and details of its Status object, or plain text."""

    status: int
    text: str
    details: dict[str, Any]
    causes: tuple[dict[str, Any], ...]
    after: float | None
    wrote: bool


def classify(
    status: int | None,
    headers: Mapping[str, str],
    body: bytes,
    *,
    wrote: bool = False,
    phase: Phase = "answered",
) -> ClusterError:
    """Return the error that an unusual end of a request means.

    ``status`` is ``None`` when no answer came; ``phase`` then says how far the request got and
    ``body`` carries the reason in words. ``wrote`` is true for a request that changes objects
    (not for a dry run): only then can the outcome be unknown.
    """
    if status is None or phase in ("connect", "tls", "sent", "body"):
        return _no_answer(body.decode("utf-8", "replace"), wrote, phase, status)
    if 300 <= status < 400:
        return errors.Protocol(
            f"the cluster redirects ({status}); this is not followed", retry=False
        )
    answer = _read(status, headers, body, wrote)
    reader = _BY_STATUS.get(status)
    if reader is not None:
        return reader(answer)
    if status >= 500:
        return _trouble(answer)
    return errors.BadRequest(answer.text, status=status)


def _no_answer(reason: str, wrote: bool, phase: Phase, status: int | None) -> ClusterError:
    if phase == "connect":
        return errors.Unreachable(f"cannot reach the cluster: {reason}")
    if phase == "tls":
        return errors.TlsError(f"the cluster's certificate is not accepted: {reason}")
    if wrote:
        return errors.Unknown(f"the answer to a write is lost: {reason}", status=status)
    if phase == "body":
        return errors.Protocol(f"the answer is cut short: {reason}", status=status)
    return errors.Unreachable(f"no answer from the cluster: {reason}")


def _read(status: int, headers: Mapping[str, str], body: bytes, wrote: bool) -> Answer:
    found = _status_object(body)
    details = found.get("details")
    details = details if isinstance(details, dict) else {}
    causes = details.get("causes")
    causes = causes if isinstance(causes, list) else []
    return Answer(
        status=status,
        text=_text(found, body, status),
        details=details,
        causes=tuple(cause for cause in causes if isinstance(cause, dict)),
        after=_retry_after(headers.get("Retry-After"), details.get("retryAfterSeconds")),
        wrote=wrote,
    )


def _status_object(body: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) and found.get("kind") == "Status" else {}


def _text(found: dict[str, Any], body: bytes, status: int) -> str:
    message = found.get("message")
    if isinstance(message, str) and message:
        return message
    plain = body[:8000].decode("utf-8", "replace").strip()
    if plain.startswith(("<", "{")) or not plain:
        return f"HTTP {status} without a readable reason"
    return plain


def _retry_after(*values: object) -> float | None:
    for value in values:
        try:
            seconds = float(str(value))
        except ValueError:
            continue
        if 0 < seconds < 86_400:
            return seconds
    return None


def _problems(answer: Answer) -> tuple[FieldProblem, ...]:
    found: dict[FieldProblem, None] = {}
    for cause in answer.causes:
        text = str(cause.get("message", ""))
        if _NOISE in text:
            continue
        field = str(cause.get("field", ""))
        found[FieldProblem("" if field == "<nil>" else field, one_line(text))] = None
    return tuple(found)


def split_problems(text: str) -> tuple[FieldProblem, ...]:
    """Read a webhook's ``field: Invalid value: ...`` or ``[a: ..., b: ...]`` into fields."""
    text = text.strip()
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    chunks: list[str] = []
    for part in _top_level_parts(inner):
        if chunks and not _PROBLEM.match(part):
            chunks[-1] += ", " + part
        else:
            chunks.append(part)
    problems = []
    for chunk in chunks:
        match = _PROBLEM.match(chunk)
        if match:
            problems.append(FieldProblem(match["field"], one_line(match["text"])))
        elif chunk:
            problems.append(FieldProblem("", one_line(chunk)))
    return tuple(problems)


def _top_level_parts(text: str) -> list[str]:
    """Split at ``, `` outside of double quotes; an odd number of quotes is left unsplit."""
    parts, start, quoted, position = [], 0, False, 0
    while position < len(text):
        char = text[position]
        if char == "\\" and quoted:
            position += 1
        elif char == '"':
            quoted = not quoted
        elif char == "," and not quoted and text[position + 1 : position + 2] == " ":
            parts.append(text[start:position])
            start = position + 2
        position += 1
    parts.append(text[start:])
    return parts


def _webhook(answer: Answer) -> ClusterError | None:
    match = _WEBHOOK.search(answer.text)
    if match is None:
        return None
    return errors.WebhookRefused(
        answer.text,
        webhook=match["name"],
        status=answer.status,
        problems=split_problems(match["text"]),
    )


def _policy(answer: Answer) -> ClusterError | None:
    match = _POLICY.search(answer.text)
    if match is None:
        return None
    return errors.PolicyRefused(
        answer.text,
        policy=match["policy"],
        binding=match["binding"],
        reason=match["text"],
        status=answer.status,
    )


def _bad_request(answer: Answer) -> ClusterError:
    refused = _webhook(answer)
    if refused is not None:
        return refused
    fields = tuple(
        FieldProblem(field, "unknown field") for field in _UNKNOWN_FIELD.findall(answer.text)
    )
    programming = "strict decoding error" in answer.text or "error strict decoding" in answer.text
    kind = errors.ProgrammingError if programming else errors.BadRequest
    return kind(answer.text, status=answer.status, problems=fields)


def _unauthorized(answer: Answer) -> ClusterError:
    return errors.Credential(
        f"the cluster does not accept the credential: {answer.text}", status=answer.status
    )


def _forbidden(answer: Answer) -> ClusterError:
    if any(cause.get("reason") == "NamespaceTerminating" for cause in answer.causes):
        return errors.Terminating(answer.text, status=answer.status)
    refused = _webhook(answer) or _policy(answer)
    if refused is not None:
        return refused
    match = _RBAC.search(answer.text)
    if match is None:
        return errors.PolicyRefused(answer.text, status=answer.status)
    group = match["group"]
    return errors.Forbidden(
        answer.text,
        user=match["user"],
        verb=match["verb"],
        resource=match["resource"] + (f".{group}" if group else ""),
        namespace=match["namespace"] or "",
        status=answer.status,
    )


def _missing(answer: Answer) -> ClusterError:
    if answer.details.get("kind") == "namespaces" and _MISSING_NAMESPACE.match(answer.text):
        return errors.NamespaceMissing(answer.text, status=answer.status)
    if answer.details.get("name") or _MISSING_OBJECT.match(answer.text):
        return errors.NotFound(answer.text, status=answer.status)
    return errors.KindMissing(
        f"the cluster does not serve this kind: {answer.text}", status=answer.status
    )


def _conflict(answer: Answer) -> ClusterError:
    owners = []
    for cause in answer.causes:
        match = _CONFLICT.search(str(cause.get("message", "")))
        if cause.get("reason") == "FieldManagerConflict":
            manager = match["manager"] if match else "unknown"
            owners.append(Owner(one_line(manager, 200), str(cause.get("field", ""))))
    if owners:
        return errors.FieldConflict(answer.text, conflicts=tuple(owners), status=answer.status)
    if "uid mismatch" in answer.text or "Precondition failed: UID" in answer.text:
        return errors.UidMismatch(answer.text, status=answer.status)
    return errors.Modified(answer.text, status=answer.status)


def _gone(answer: Answer) -> ClusterError:
    return errors.Gone(answer.text, status=answer.status)


def _unprocessable(answer: Answer) -> ClusterError:
    refused = _policy(answer) or _webhook(answer)
    if refused is not None:
        return refused
    if str(answer.details.get("kind", "")).endswith("Options"):
        return errors.ProgrammingError(
            answer.text, status=answer.status, problems=_problems(answer)
        )
    problems = _problems(answer)
    if any(problem.field == "metadata.uid" for problem in problems):
        return errors.UidMismatch(answer.text, status=answer.status, problems=problems)
    summary = "; ".join(f"{problem.field or 'object'}: {problem.text}" for problem in problems)
    return errors.SchemaRefused(summary or answer.text, status=answer.status, problems=problems)


def _throttled(answer: Answer) -> ClusterError:
    return errors.Throttled(answer.text, status=answer.status, retry_after=answer.after)


def _internal(answer: Answer) -> ClusterError:
    down = _WEBHOOK_DOWN.search(answer.text)
    if down is not None or answer.text.startswith("conversion webhook for"):
        name = down["name"] if down else ""
        return errors.WebhookDown(
            answer.text, webhook=name, status=answer.status, retry_after=answer.after
        )
    if "failed to create typed patch object" in answer.text:
        match = _DIRECT_FIELDS.search(answer.text)
        found = (FieldProblem(match["field"], one_line(match["text"])),) if match else ()
        return errors.ProgrammingError(answer.text, status=answer.status, problems=found)
    return _trouble(answer)


def _trouble(answer: Answer) -> ClusterError:
    if any(cause.get("reason") == "ResourceVersionTooLarge" for cause in answer.causes):
        return errors.Gone(answer.text, status=answer.status, retry_after=answer.after)
    return errors.Unavailable(
        answer.text, status=answer.status, retry_after=answer.after, outcome_unknown=answer.wrote
    )


_BY_STATUS = {
    400: _bad_request,
    401: _unauthorized,
    403: _forbidden,
    404: _missing,
    409: _conflict,
    410: _gone,
    422: _unprocessable,
    429: _throttled,
    500: _internal,
}
