"""What the portal gets in the demo's cluster: its two accounts with exactly their rights."""

from __future__ import annotations

import json
from pathlib import Path

from cluster import Cluster
from kube import rbac
from portal.embedded import places

HOURS = 24


def grant(cluster: Cluster) -> None:
    """Create or refresh the portal's own identities in the cluster."""
    for manifest in rbac.manifests():
        cluster.api.apply(manifest)


def token(cluster: Cluster, account: str) -> str:
    """Ask for a token of one of the portal's accounts."""
    path = f"/api/v1/namespaces/{rbac.NAMESPACE}/serviceaccounts/{account}/token"
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": HOURS * 3600},
    }
    return str(cluster.api.request("POST", path, body)["status"]["token"])


def write(cluster: Cluster, path: Path) -> None:
    """Leave what the seeding needs in a file that only this user can read."""
    facts = {
        "server": cluster.server,
        "ca_pem": cluster.ca_pem,
        "reader": token(cluster, rbac.Identity.READER),
        "applier": token(cluster, rbac.Identity.APPLIER),
    }
    places.write_secret(path, json.dumps(facts))
