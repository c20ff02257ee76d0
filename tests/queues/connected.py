"""A cluster that is connected, checked and read, and how its pages are opened."""

from datetime import timedelta

from django.utils import timezone

from queues.models import Credential, Link
from tenants.models import Cluster
from tests.cast import MARK
from tests.kube.test_credentials import CA
from tests.queues import seen

LIST, PAGE, WRITING = "/clusters/", "/clusters/lab/", "/clusters/lab/writing"
RIGHT = "patch clusterqueues.kueue.x-k8s.io"
GOOD_REPORT = {
    "ok": True,
    "user": "system:serviceaccount:gpuportal-system:x",
    "missing": [],
    "surplus": [],
}


def connect(lab):
    """Return a cluster that is connected, checked and read; the portal may not write yet."""
    Cluster.objects.update(writing=False)
    seen.lab(lab.cluster)
    seen.workload(lab.cluster, MARK, namespace="cv", queue="cv-train")
    link = Link.objects.create(
        cluster=lab.cluster, server="https://10.0.0.1:6443", ca_pem=CA, checked_at=timezone.now(),
        preflight={"ok": True, "reader": GOOD_REPORT, "applier": GOOD_REPORT},
        capabilities={"kubernetes": "v1.35.4", "kueue_versions": ["v1beta2"], "kinds_missing": [], "served": True},
    )  # fmt: skip
    for purpose in ("reader", "applier"):
        expires = timezone.now() + timedelta(hours=20)
        Credential.objects.create(
            link=link, purpose=purpose, sealed=b"x", key_id="k", expires_at=expires
        )
    return lab


def open_(client, who, url, **more):
    client.force_login(who)
    return client.get(url, **more)
