"""Where the use of a cluster's GPUs is asked for: set by an administrator, tested by a worker.

The web process seals the token and cannot open it again. What it is sealed for names the server,
so that nobody can have it sent to another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from costs import prometheus
from costs.models import MetricsSource
from costs.promql import ACTIVE, METRICS, jobs
from costs.times import instant
from kube import errors
from kube.addresses import allowed, written
from kube.connection import check_server, check_token
from portal.web.errors import Refused
from queues import sealing
from tenants import access, audit
from tenants.models import Cluster, User

log = structlog.get_logger(__name__)

_ACTION: Final = "cluster.metrics"
_TEXT: Final = 500


class NotUsable(Refused):
    """What was given of a source cannot be used; the field says what."""

    code = "GP-5611"
    #: A mistake in a form is nothing for the trail.
    keep = False


class NoSource(Refused):
    """No source of metrics is set for this cluster."""

    code = "GP-5612"


class NoUse(prometheus.MetricsError):
    """Prometheus answers, and knows nothing of the use of GPUs."""

    code = "GP-5613"


class SeveralJobs(prometheus.MetricsError):
    """More than one job reports the use of GPUs: added up, it would count twice."""

    code = "GP-5614"


class NoInterval(prometheus.MetricsError):
    """How often the exporters are scraped is neither set nor said."""

    code = "GP-5615"


def set_source(
    *,
    actor: User,
    cluster: Cluster,
    server: str,
    ca_pem: str = "",
    token: str | None = None,
    job: str = "",
    interval: int | None = None,
) -> MetricsSource:
    """Store where to ask, and have it tested. ``token``: None keeps the one that is stored.

    A token is kept for the same server alone. ``NotUsable`` with the field that is wrong.
    """
    scope = audit.PLATFORM
    with audit.refusals(_ACTION, actor=actor, scope=scope, obj=cluster):
        access.require(actor, _ACTION, cluster)
        _check_server(server)
        _check_ca(server, ca_pem)
        with transaction.atomic():
            before = MetricsSource.objects.select_for_update().filter(cluster=cluster).first()
            sealed = _sealed(cluster, server, token, before)
            source, made = MetricsSource.objects.update_or_create(
                cluster=cluster,
                defaults={
                    "server": server, "ca_pem": ca_pem, "job": job, "interval": interval,
                    "sealed": sealed[0], "key_id": sealed[1], "wanted_at": Now(),
                    "checked_at": None, "found": {}, "code": "", "problem": "", "problem_field": "",
                },
            )  # fmt: skip
            data = {
                "server": server, "job": job, "interval": interval, "ca": bool(ca_pem),
                "sealed_to": sealed[1], "new": made,
            }  # fmt: skip
            audit.record(_ACTION, actor=actor, scope=scope, obj=cluster, data=data)
    return MetricsSource.objects.get(pk=source.pk)


def remove_source(*, actor: User, cluster: Cluster) -> None:
    """Forget the source and its token; what was asked of it stays."""
    scope, data = audit.PLATFORM, {"removed": True}
    with audit.refusals(_ACTION, actor=actor, scope=scope, obj=cluster, data=data):
        access.require(actor, _ACTION, cluster)
        with transaction.atomic():
            if not MetricsSource.objects.filter(cluster=cluster).delete()[0]:
                raise NoSource(_("No source of metrics is set for this cluster."))
            audit.record(_ACTION, actor=actor, scope=scope, obj=cluster, data=data)


def ask_for_test(*, actor: User, cluster: Cluster) -> None:
    """Have the source tested again by a worker."""
    access.require(actor, _ACTION, cluster)
    if not MetricsSource.objects.filter(cluster=cluster).update(wanted_at=Now()):
        raise NoSource(_("No source of metrics is set for this cluster."))


def _check_server(server: str) -> None:
    scheme, _sep, rest = server.partition("://")
    if scheme not in ("http", "https"):
        said = _("The address must begin with https:// or http://.")
        raise NotUsable(said, field="server")
    try:
        # Within a cluster Prometheus is often without TLS; else the rules are those of a cluster.
        check_server(f"https://{rest}")
    except errors.ClusterError as error:
        raise NotUsable(_sentence(error.message), field="server") from None
    host = urlsplit(server).hostname or ""
    address = written(host)
    if address is not None and not allowed(address, settings.CLUSTER_NETWORKS):
        said = _("The address %(address)s is not allowed.") % {"address": host}
        raise NotUsable(said, field="server")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _check_ca(server: str, ca_pem: str) -> None:
    if not ca_pem:
        return
    if not server.startswith("https://"):
        said = _("A certificate authority is of use with https:// only.")
        raise NotUsable(said, field="ca_pem")
    try:
        prometheus.trust(ca_pem)
    except prometheus.NotTrusted as error:
        raise NotUsable(str(error.message), field="ca_pem") from None


def _sealed(
    cluster: Cluster, server: str, token: str | None, before: MetricsSource | None
) -> tuple[bytes | None, str]:
    """Return what to store of a token: a new one, the one that is stored, or none."""
    if token is None:
        if before is None or before.sealed is None:
            return None, ""
        if before.server != server:
            said = _("The token is kept for its server alone. Give the one of this server.")
            raise NotUsable(said, field="token")
        return bytes(before.sealed), before.key_id
    if not token:
        return None, ""
    if not server.startswith("https://"):
        said = _("A token is sent over https:// only.")
        raise NotUsable(said, field="token")
    try:
        check_token(token)
        return sealing.seal(token, purpose=_purpose(cluster.pk, server))
    except errors.ClusterError:
        raise NotUsable(_("This is not a token."), field="token") from None
    except sealing.SealError as error:
        raise NotUsable(str(error), field="token") from None


def _purpose(cluster_id: int, server: str) -> str:
    return f"{cluster_id}:metrics:{server}"


def opened(source: MetricsSource) -> prometheus.Prometheus:
    """Return the way to a source; use it in a ``with`` block, outside of a transaction."""
    if connection.in_atomic_block:
        message = "Prometheus is asked inside a database transaction"
        raise RuntimeError(message)
    token = ""
    if source.sealed is not None:
        try:
            token = sealing.unseal(
                bytes(source.sealed), source.key_id,
                purpose=_purpose(source.cluster_id, source.server),
            )  # fmt: skip
        except sealing.SealError as error:
            raise prometheus.TokenRefused(str(error), field="token") from None
    place = prometheus.Place(
        server=source.server, ca_pem=source.ca_pem, token=token,
        allowed=lambda address: allowed(address, settings.CLUSTER_NETWORKS),
    )  # fmt: skip
    return prometheus.Prometheus(place)


def check(source: MetricsSource) -> bool:
    """Test a source and note what was found, or what is wrong; return whether it is good."""
    asked_at = source.wanted_at
    result: dict[str, Any]
    try:
        with opened(source) as server:
            result = {"found": _look(source, server), "code": "", "problem": "", "problem_field": ""}  # fmt: skip
    except prometheus.MetricsError as error:
        result = {
            "code": error.code, "problem": str(error.message)[:_TEXT],
            "problem_field": error.field or "",
        }  # fmt: skip
        log.warning("metrics_source_not_good", cluster_id=source.pk, code=error.code)
    # Somebody may have set another one meanwhile: then this says nothing of it.
    rows = MetricsSource.objects.filter(pk=source.pk, wanted_at=asked_at, server=source.server)
    rows.update(checked_at=Now(), **result)
    return not result["code"]


def _look(source: MetricsSource, server: prometheus.Prometheus) -> dict[str, Any]:
    """Find out what the harvest needs to know."""
    version = server.version()
    now = instant(_now())
    seen = {
        (each.labels.get("job", ""), each.labels.get("__name__", "")): int(each.value or 0)
        for each in server.ask(jobs(), now)
    }
    job = chosen_job(source.job, {name for name, _metric in seen})
    intervals = server.intervals()
    every = {each for (name, _), each in (intervals or {}).items() if name == job}
    if not source.interval and not every:
        said = _("Prometheus does not say how often %(job)s is scraped. Set it.") % {"job": job}
        raise NoInterval(said, field="interval")
    return {
        "version": version,
        "job": job,
        "intervals": [source.interval] if source.interval else sorted(every),
        "metrics": {metric: seen[job, metric] for metric in METRICS if (job, metric) in seen},
        "fallback": (job, ACTIVE) not in seen,
        "retention": server.retention(),
    }


def chosen_job(wanted: str, found: set[str]) -> str:
    """Return the job to ask for; ``NoUse`` or ``SeveralJobs`` if that cannot be said."""
    if wanted and wanted not in found:
        said = _("No metrics of GPUs of the job %(job)s. There are: %(jobs)s.")
        names = {"job": wanted, "jobs": ", ".join(sorted(found)[:5]) or _("none")}
        raise NoUse(said % names, field="job")
    if not found:
        said = _("Prometheus answers, but has no metrics of the use of GPUs (%(metric)s).")
        raise NoUse(said % {"metric": ACTIVE}, field="server")
    if not wanted and len(found) > 1:
        said = _("Several jobs report the use of GPUs. Choose one of: %(jobs)s.")
        raise SeveralJobs(said % {"jobs": ", ".join(sorted(found)[:5])}, field="job")
    return wanted or next(iter(found))


def _now() -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        return cursor.fetchone()[0]


def known_job(source: MetricsSource) -> str:
    """Return the job that was set, or found at the last good test."""
    found: Mapping[str, Any] = source.found
    return source.job or str(found.get("job", ""))
