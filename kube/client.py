"""The door to a cluster: the few calls that the portal makes, each with all its limits.

One ``ClusterClient`` belongs to one cluster and one identity. Callers render full canonical
objects: server-side apply compares texts and protects only fields that are sent.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from kube import errors
from kube.answers import Applied, Object, Objects, Page, Token, Version, Versions
from kube.connection import Connection
from kube.kinds import SERVICE_ACCOUNT, Kind, kind_named, path_of, safe_name
from kube.manifest import Ref
from kube.transport import Answer, Guard, Request, Transport

APPLY = "application/apply-patch+yaml"
PAGE = 500
RESTARTS = 3


class ClusterClient:
    """Reads and writes one cluster. Safe to share between threads."""

    def __init__(self, connection: Connection, *, guard: Guard | None = None) -> None:
        """Prepare the connection; nothing is sent yet.

        ``guard`` is called before every request; it may raise to forbid the call.
        """
        self.transport = Transport(connection, guard=guard)

    @property
    def connection(self) -> Connection:
        """Return where this client connects to."""
        return self.transport.connection

    @property
    def guard(self) -> Guard | None:
        """Return what is called before every request."""
        return self.transport.guard

    @guard.setter
    def guard(self, guard: Guard | None) -> None:
        self.transport.guard = guard

    @property
    def clock_skew(self) -> float | None:
        """Return how many seconds the cluster's clock is ahead of ours, as last seen."""
        return self.transport.skew

    def close(self) -> None:
        """Give the connections back."""
        self.transport.close()

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.close()

    # -- reading ---------------------------------------------------------------------------

    def get(self, ref: Ref) -> Object | None:
        """Return the live object, or ``None`` when it does not exist.

        A kind that the cluster does not serve raises ``KindMissing``: absent is not unknown.
        """
        try:
            return self._object(self.transport.send(Request("GET", path_of(ref))))
        except errors.NotFound:
            return None

    def list(
        self,
        kind: str,
        namespace: str | None = None,
        *,
        limit: int = PAGE,
        labels: str | None = None,
        fields: str | None = None,
    ) -> Iterator[Page]:
        """Yield the pages of a list.

        When the position expires half-way (410) the list begins again from the start and the
        next page has ``restarted`` set: forget the pages before it.
        """
        path = kind_named(kind).path(namespace=namespace)
        position, restarts, restarted = "", 0, False
        while True:
            query = _list_query(limit, position, labels, fields)
            try:
                page = self._page(path, query, restarted=restarted)
            except errors.Gone:
                restarts += 1
                if not position or restarts > RESTARTS:
                    raise
                position, restarted = "", True
                continue
            restarted = False
            position = page[1]
            yield page[0]
            if not position:
                return

    def list_all(
        self,
        kind: str,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        fields: str | None = None,
    ) -> tuple[Objects, str]:
        """Return all objects of a kind and the resourceVersion of the list."""
        items: Objects = []
        version = ""
        for page in self.list(kind, namespace, labels=labels, fields=fields):
            if page.restarted:
                items.clear()
            items.extend(page.items)
            version = page.resource_version
        return items, version

    def _page(
        self, path: str, query: tuple[tuple[str, str], ...], *, restarted: bool
    ) -> tuple[Page, str]:
        found = self._object(self.transport.send(Request("GET", path, query)))
        items, metadata = found.get("items"), found.get("metadata")
        if not isinstance(metadata, dict) or not (items is None or isinstance(items, list)):
            msg = "the cluster's answer is not a list"
            raise errors.Protocol(msg)
        position = str(metadata.get("continue") or "")
        remaining = metadata.get("remainingItemCount")
        page = Page(
            items=items or [],
            resource_version=str(metadata.get("resourceVersion") or ""),
            remaining=remaining if isinstance(remaining, int) else None,
            restarted=restarted,
            last=not position,
        )
        return page, position

    # -- writing ---------------------------------------------------------------------------

    def apply(
        self,
        body: Mapping[str, Any],
        *,
        manager: str,
        dry_run: bool = False,
        uid: str | None = None,
        force: bool = False,
    ) -> Applied:
        """Server-side apply one full object.

        With ``uid`` the object must be the one that had it when it was recorded: one that was
        deleted, or deleted and made anew, raises ``UidMismatch``. ``force`` takes fields away
        from other managers and is for a person's recorded decision only. A field that is left
        out of ``body`` is not protected, and is given up if this manager owned it.
        """
        ref = ref_of(body)
        sent = copy.deepcopy(dict(body))
        if uid is not None:
            sent["metadata"]["uid"] = uid
        query = [
            ("fieldManager", manager),
            ("force", "true" if force else "false"),
            ("fieldValidation", "Strict"),
        ]
        if dry_run:
            query.append(("dryRun", "All"))
        request = Request("PATCH", path_of(ref), tuple(query), sent, APPLY, writes=not dry_run)
        answer = self.transport.send(request)
        found = self._object(answer)
        if found.get("metadata", {}).get("deletionTimestamp"):
            msg = f"{ref} is being deleted; a change to it will be lost"
            raise errors.Terminating(msg, status=answer.status)
        return Applied(found, answer.warnings, created=answer.status == 201)

    def delete(self, ref: Ref, *, uid: str, dry_run: bool = False) -> bool:
        """Ask for the deletion of exactly the object that has ``uid``.

        Returns whether the object is gone already; ``False`` means that a finalizer holds it.
        """
        query = (("dryRun", "All"),) if dry_run else ()
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid},
            "propagationPolicy": "Background",
        }
        request = Request("DELETE", path_of(ref), query, options, writes=not dry_run)
        try:
            found = self._object(self.transport.send(request))
        except errors.NotFound:
            return True
        return not found.get("metadata", {}).get("finalizers")

    # -- about the cluster and the identity --------------------------------------------------

    def version(self) -> Version:
        """Return the API server's version."""
        found = self.raw("/version")
        try:
            numbers = [int("".join(filter(str.isdigit, str(found[key])))) for key in _VERSION_KEYS]
            return Version(str(found["gitVersion"]), *numbers)
        except (KeyError, ValueError, TypeError):
            msg = "the cluster's version cannot be read"
            raise errors.Protocol(msg) from None

    def raw(self, path: str, query: tuple[tuple[str, str], ...] = ()) -> Object:
        """Return the JSON object at a path (discovery and other fixed addresses)."""
        return self._object(self.transport.send(Request("GET", path, query)))

    def text(self, path: str) -> str:
        """Return a short plain-text answer, such as that of ``/readyz``."""
        answer = self.transport.send(Request("GET", path, accept="*/*"))
        return answer.body.decode("utf-8", "replace")

    def discovery(self, group: str, version: str) -> Objects:
        """Return the resources of one group and version; none if it is not served."""
        path = f"/apis/{safe_name(group)}/{safe_name(version)}" if group else "/api/v1"
        try:
            found = self.raw(path).get("resources")
        except (errors.KindMissing, errors.NotFound):
            return []
        return found if isinstance(found, list) else []

    def groups(self) -> Versions:
        """Return the API groups that are served, each with its versions."""
        found = self.raw("/apis").get("groups")
        return {
            str(group["name"]): [str(each["version"]) for each in group.get("versions") or []]
            for group in (found if isinstance(found, list) else [])
        }

    def may(
        self,
        verb: str,
        resource: str,
        *,
        group: str = "",
        subresource: str = "",
        namespace: str = "",
        name: str = "",
    ) -> bool:
        """Ask the cluster whether this identity may do something (SelfSubjectAccessReview)."""
        attributes = {
            "verb": verb,
            "group": group,
            "resource": resource,
            "subresource": subresource,
            "namespace": namespace,
            "name": name,
        }
        return self._review({"resourceAttributes": _filled(attributes)})

    def may_path(self, verb: str, path: str) -> bool:
        """Ask whether this identity may use a path that is no resource."""
        return self._review({"nonResourceAttributes": {"verb": verb, "path": path}})

    def _review(self, spec: Object) -> bool:
        status = self._create(_AUTHORIZATION, "SelfSubjectAccessReview", spec)
        return status.get("allowed") is True

    def rules(self, namespace: str) -> Object:
        """Return the status of a SelfSubjectRulesReview: this identity's rights in a namespace."""
        return self._create(_AUTHORIZATION, "SelfSubjectRulesReview", {"namespace": namespace})

    def whoami(self) -> str:
        """Return the user name under which the cluster knows this identity."""
        status = self._create("authentication.k8s.io/v1", "SelfSubjectReview", None)
        return str(status.get("userInfo", {}).get("username", ""))

    def _create(self, api_version: str, kind: str, spec: Object | None) -> Object:
        """POST one of the reviews that are answered in place and stored nowhere."""
        body: Object = {"apiVersion": api_version, "kind": kind}
        if spec is not None:
            body["spec"] = spec
        path = f"/apis/{api_version}/{kind.lower()}s"
        status = self._object(self.transport.send(Request("POST", path, (), body))).get("status")
        if not isinstance(status, dict):
            msg = f"the answer to a {kind} has no status"
            raise errors.Protocol(msg)
        return status

    def create_token(self, namespace: str, account: str, seconds: int) -> Token:
        """Return a new bound token of a service account that lives for ``seconds``."""
        path = f"{SERVICE_ACCOUNT.path(account, namespace)}/token"
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds},
        }
        status = self._object(self.transport.send(Request("POST", path, (), body))).get("status")
        try:
            value, expires = status["token"], status["expirationTimestamp"]  # type: ignore[index] # a missing status is the TypeError below
            return Token(str(value), datetime.fromisoformat(str(expires)))
        except (KeyError, TypeError, ValueError):
            msg = "the answer to a token request holds no token"
            raise errors.Protocol(msg) from None

    @staticmethod
    def _object(answer: Answer) -> Object:
        found = answer.json()
        if not isinstance(found, dict):
            msg = "the cluster's answer is not an object"
            raise errors.Protocol(msg, status=answer.status, outcome_unknown=answer.wrote)
        return found


_AUTHORIZATION = "authorization.k8s.io/v1"
_VERSION_KEYS = ("major", "minor")


def ref_of(body: Mapping[str, Any]) -> Ref:
    """Return the address of a manifest whose kind, version and scope are known ones."""
    kind = kind_named(str(body.get("kind")))
    metadata = body.get("metadata")
    if not isinstance(metadata, Mapping) or "managedFields" in metadata:
        msg = "a manifest needs metadata without managedFields"
        raise errors.ProgrammingError(msg)
    _check_version(kind, body.get("apiVersion"))
    ref = Ref(kind.name, str(metadata.get("namespace") or ""), str(metadata.get("name", "")))
    path_of(ref)
    return ref


def _check_version(kind: Kind, given: object) -> None:
    if given != kind.api_version:
        msg = f"{kind.name} is written as {kind.api_version}, not {given}"
        raise errors.ProgrammingError(msg)


def _list_query(
    limit: int, position: str, labels: str | None, fields: str | None
) -> tuple[tuple[str, str], ...]:
    given = {
        "limit": str(limit) if limit else "",
        "continue": position,
        "labelSelector": labels or "",
        "fieldSelector": fields or "",
    }
    return tuple(_filled(given).items())


def _filled(values: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in values.items() if value}
