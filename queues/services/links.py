"""The portal's way into a cluster: its address, its sealed credentials, its open clients."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Literal
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import ProtectedError
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from kube import errors
from kube.addresses import allowed, written
from kube.client import ClusterClient
from kube.connection import Connection, Timeouts, check_server, check_token
from portal.web.errors import DomainError, Refused
from queues import sealing
from queues.models import Credential, Link
from tenants import access, audit
from tenants.models import Cluster, User
from tenants.signals import work_ready

log = structlog.get_logger(__name__)

Purpose = Literal["reader", "applier"]
PURPOSES: Final[tuple[Purpose, ...]] = ("reader", "applier")
ACCOUNTS: Final[Mapping[str, str]] = {"reader": "gpuportal-reader", "applier": "gpuportal-applier"}
TIMEOUTS: Final = Timeouts(connect=3.0, read=20.0, total=60.0)
#: A token is renewed when less than this part of its life is left.
LIFE: Final = timedelta(hours=24)
RENEW_BEFORE: Final = timedelta(hours=12)


class Unusable(DomainError):
    """A cluster cannot be reached the way it was registered."""

    code = "GP-4103"


class NetworkInTransaction(RuntimeError):
    """A defect: a call to a cluster must never hold a database transaction open."""


def guard() -> None:
    """Forbid calls to a cluster inside a transaction."""
    if connection.in_atomic_block:
        message = "a cluster is called inside a database transaction"
        raise NetworkInTransaction(message)


# --- registering ----------------------------------------------------------------------------------


def register_cluster(
    *,
    actor: User,
    slug: str,
    display_name: str,
    server: str,
    ca_pem: str,
    reader_token: str,
    applier_token: str,
    namespace: str = "gpuportal-system",
) -> Cluster:
    """Store a cluster's address and sealed tokens, or replace those of a known one.

    Writing is off until an administrator switches it on; the preflight is made by a worker.
    """
    with audit.refusals("cluster.register", actor=actor, scope=audit.PLATFORM, obj=None):
        access.require(actor, "cluster.register")
        tokens = {"reader": reader_token, "applier": applier_token}
        _check(server, ca_pem, tokens)
        return _store(actor, slug, display_name, server, ca_pem, tokens, namespace)


def _check(server: str, ca_pem: str, tokens: Mapping[str, str]) -> None:
    """Refuse what could never work, with the field that is wrong."""
    try:
        Connection(server=check_server(server), ca_pem=ca_pem).tls()
    except errors.ClusterError as error:
        field = "ca_pem" if "certificate" in error.message else "server"
        raise Refused(error.message, code="GP-4102", field=field) from None
    _check_address(server)
    for purpose, token in tokens.items():
        try:
            check_token(token)
        except errors.ClusterError:
            field = f"{purpose}_token"
            raise Refused(_("This is not a token."), code="GP-4105", field=field) from None


def _check_address(server: str) -> None:
    """Refuse an address that no connection may lead to; a name is resolved when it is used."""
    host = urlsplit(server).hostname or ""
    address = written(host)
    if address is not None and not allowed(address, settings.CLUSTER_NETWORKS):
        said = _("The address %(address)s is not allowed for a cluster.") % {"address": host}
        raise Refused(said, code="GP-4102", field="server")


@transaction.atomic
def _store(
    actor: User,
    slug: str,
    display_name: str,
    server: str,
    ca_pem: str,
    tokens: Mapping[str, str],
    namespace: str,
) -> Cluster:
    cluster, made = Cluster.objects.get_or_create(
        slug=slug, defaults={"display_name": display_name}
    )
    if not made and cluster.display_name != display_name:
        cluster.display_name = display_name
        cluster.save(update_fields=["display_name"])
    address = {"server": server, "ca_pem": ca_pem, "namespace": namespace}
    link, _made = Link.objects.update_or_create(
        cluster=cluster,
        defaults=address | {"preflight": {}, "checked_at": None, "check_error": ""},
    )
    for purpose, token in tokens.items():
        _store_token(link, purpose, token, expires_at=None)
    keys = sorted(set(link.credentials.values_list("key_id", flat=True)))
    audit.record(
        "cluster.register",
        actor=actor,
        scope=audit.PLATFORM,
        obj=cluster,
        data={"server": server, "namespace": namespace, "new": made, "sealed_to": keys},
    )
    work_ready.send(Cluster, cluster_id=cluster.pk)
    return cluster


def _store_token(link: Link, purpose: str, token: str, *, expires_at: datetime | None) -> None:
    try:
        sealed, key = sealing.seal(token, purpose=_sealed_for(link, purpose))
    except sealing.SealError as error:
        raise Unusable(str(error)) from None
    Credential.objects.update_or_create(
        link=link,
        purpose=purpose,
        defaults={
            "sealed": sealed,
            "key_id": key,
            "expires_at": expires_at,
            "renewed_at": timezone.now(),
            "problem": "",
        },
    )


def _sealed_for(link: Link, purpose: str) -> str:
    return f"{link.cluster_id}:{purpose}"


def is_ready(cluster: Cluster) -> bool:
    """Tell whether the cluster was checked and everything needed is in place."""
    link = Link.objects.filter(cluster=cluster).first()
    return bool(link and link.preflight.get("ok"))


def set_writing(*, actor: User, cluster: Cluster, on: bool) -> Cluster:
    """Switch writing to a cluster on or off; on only after a preflight without faults."""
    scope = audit.PLATFORM
    with audit.refusals("cluster.write", actor=actor, scope=scope, obj=cluster, data={"on": on}):
        access.require(actor, "cluster.write", cluster)
        if on and not is_ready(cluster):
            message = _("Writing stays off: the preflight of this cluster is not in order.")
            raise Refused(message, code="GP-4101")
        with transaction.atomic():
            Cluster.objects.filter(pk=cluster.pk).update(writing=on)
            audit.record("cluster.write", actor=actor, scope=scope, obj=cluster, data={"on": on})
            work_ready.send(Cluster, cluster_id=cluster.pk)
    cluster.refresh_from_db()
    return cluster


# --- disconnecting --------------------------------------------------------------------------------


def disconnect_cluster(*, actor: User, cluster: Cluster) -> bool:
    """Forget a cluster's address and tokens; nothing in the cluster changes.

    What is known of it stays, and it can be connected again. One without catalog, requests and
    history, as after a mistake, is removed as a whole: then the answer is ``True``.
    """
    scope, action = audit.PLATFORM, "cluster.disconnect"
    with audit.refusals(action, actor=actor, scope=scope, obj=cluster):
        access.require(actor, action, cluster)
        with transaction.atomic():
            link = Link.objects.select_for_update().filter(cluster=cluster).first()
            if link is None:
                said = _("This cluster is not connected.")
                raise Refused(said, code="GP-4106")
            data = {"server": link.server, "namespace": link.namespace}
            audit.record(action, actor=actor, scope=scope, obj=cluster, data=data)
            link.delete()
            Cluster.objects.filter(pk=cluster.pk).update(writing=False)
            return _removed(cluster)


def _removed(cluster: Cluster) -> bool:
    """Remove a cluster that no revision, request or history speaks of."""
    try:
        with transaction.atomic():
            Cluster.objects.filter(pk=cluster.pk).delete()
    except ProtectedError:
        return False
    return True


def place_of(cluster: Cluster) -> tuple[str, str] | None:
    """Return the address and the CA of a cluster; ``None`` when it is not connected."""
    return Link.objects.filter(cluster=cluster).values_list("server", "ca_pem").first()


# --- opening --------------------------------------------------------------------------------------


class SealedToken:
    """The token of one credential, opened when it is needed; kept in this process only."""

    def __init__(self, link: Link, purpose: str) -> None:
        """Read and open the credential."""
        self._link = link
        self._purpose = purpose
        self._token = self._open()

    def token(self) -> str:
        """Return the token in use."""
        return self._token

    def refresh(self) -> str | None:
        """Return another token after a refusal: one that somebody has renewed meanwhile."""
        before, self._token = self._token, self._open()
        if self._token != before:
            return self._token
        self.trouble("the cluster does not accept this token")
        return None

    def trouble(self, problem: str) -> None:
        """Note what is wrong with the credential, for the page of the cluster."""
        rows = Credential.objects.filter(link=self._link, purpose=self._purpose)
        rows.exclude(problem=problem).update(problem=problem)

    def _open(self) -> str:
        row = Credential.objects.filter(link=self._link, purpose=self._purpose).first()
        if row is None:
            message = f"no {self._purpose} credential is stored for this cluster"
            raise errors.Credential(message)
        try:
            return sealing.unseal(
                bytes(row.sealed), row.key_id, purpose=_sealed_for(self._link, self._purpose)
            )
        except sealing.SealError as error:
            self.trouble(str(error))
            raise errors.Credential(str(error)) from None


def client(*, cluster: Cluster, purpose: Purpose) -> ClusterClient:
    """Open a client with one of the portal's two identities; use it in a ``with`` block."""
    link = Link.objects.filter(cluster=cluster).first()
    if link is None:
        message = "the cluster is not connected"
        raise errors.Credential(message)
    tokens = SealedToken(link, purpose)
    place = Connection(
        server=link.server, ca_pem=link.ca_pem, tokens=tokens, timeouts=TIMEOUTS,
        address_allowed=lambda address: allowed(address, settings.CLUSTER_NETWORKS),
    )  # fmt: skip
    return ClusterClient(place, guard=guard)


# --- renewing -------------------------------------------------------------------------------------


def renew_due(cluster: Cluster) -> int:
    """Renew the tokens of a cluster that are in the second half of their life."""
    rows = Credential.objects.filter(link__cluster=cluster)
    due = rows.exclude(expires_at__gt=Now() + RENEW_BEFORE)
    return sum(_renew(cluster, row) for row in due.select_related("link"))


def _renew(cluster: Cluster, row: Credential) -> bool:
    purpose: Purpose = "reader" if row.purpose == Credential.Purpose.READER else "applier"
    try:
        with client(cluster=cluster, purpose=purpose) as door:
            token = door.create_token(
                row.link.namespace, ACCOUNTS[purpose], int(LIFE.total_seconds())
            )
    except errors.ClusterError as error:
        problem = f"the token could not be renewed: {error.message}"
        Credential.objects.filter(pk=row.pk).update(problem=problem)
        log.warning("token_not_renewed", cluster=cluster.slug, purpose=purpose, code=error.code)
        return False
    _keep_renewed(row, purpose, token.value, token.expires_at)
    return True


@transaction.atomic
def _keep_renewed(row: Credential, purpose: str, token: str, expires_at: datetime) -> None:
    """Store the new token, unless somebody registered another one meanwhile."""
    unchanged = Credential.objects.select_for_update().filter(pk=row.pk, renewed_at=row.renewed_at)
    if unchanged.exists():
        _store_token(row.link, purpose, token, expires_at=expires_at)
