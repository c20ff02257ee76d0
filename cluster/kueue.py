"""Kueue outside of a pod: its configuration, and its chart bent to processes on loopback."""

from __future__ import annotations

import base64
import copy
import http.client
import json
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.api import Api, ApiError, Manifest, path_of

NAMESPACE = "kueue-system"
WEBHOOK_SERVICE = "kueue-webhook-service"
WEBHOOK_SECRET = "kueue-webhook-server-cert"  # noqa: S105 the name of a Secret
VISIBILITY_SERVICE = "kueue-visibility-server"
FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset", "kubeflow.org/pytorchjob", "pod")
APPLIED = "/api/v1/namespaces/kueue-system/configmaps/local-cluster-applied"

_WEBHOOK_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_PASSING = (OSError, http.client.HTTPException, ApiError)


@dataclass(frozen=True)
class KueueOptions:
    """What an instance may switch on in Kueue; everything is off as in a plain installation."""

    fair_sharing: bool = False
    wait_for_pods_ready: str = ""
    log_level: int = 2


def config(ports: Mapping[str, int], certs: Path, options: KueueOptions) -> Manifest:
    """Return Kueue's configuration file for one instance."""
    result: Manifest = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": NAMESPACE,
        "health": {"healthProbeBindAddress": f"127.0.0.1:{ports['kueue-health']}"},
        "metrics": {
            "bindAddress": f"127.0.0.1:{ports['kueue-metrics']}",
            "enableClusterQueueResources": True,
        },
        "webhook": {"host": "127.0.0.1", "port": ports["kueue-webhook"], "certDir": str(certs)},
        "visibilityServer": {"bindAddress": "127.0.0.1", "bindPort": ports["kueue-visibility"]},
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": 300, "burst": 500},
        "internalCertManagement": {
            "enable": True,
            "webhookServiceName": WEBHOOK_SERVICE,
            "webhookSecretName": WEBHOOK_SECRET,
        },
        "integrations": {"frameworks": list(FRAMEWORKS)},
    }
    if options.fair_sharing:
        result["fairSharing"] = {}
    if options.wait_for_pods_ready:
        result["waitForPodsReady"] = {"timeout": options.wait_for_pods_ready}
    return result


def _external(service: Manifest) -> None:
    # An ExternalName is dialled at the port that is asked for, which is all that is needed here.
    service["spec"] = {"type": "ExternalName", "externalName": "localhost"}


def adapt(manifest: Manifest, ports: Mapping[str, int]) -> Manifest:
    """Return the object with every reference to Kueue's services leading to loopback."""
    result = copy.deepcopy(manifest)
    kind, name = result["kind"], result["metadata"]["name"]
    if kind in _WEBHOOK_KINDS:
        # The chart gives these a namespace, though their kind has none.
        result["metadata"].pop("namespace", None)
        for hook in result["webhooks"]:
            hook["clientConfig"]["service"]["port"] = ports["kueue-webhook"]
    elif kind == "CustomResourceDefinition":
        conversion = result["spec"].get("conversion", {})
        if conversion.get("strategy") == "Webhook":
            service = conversion["webhook"]["clientConfig"]["service"]
            service["port"] = ports["kueue-webhook"]
    elif kind == "APIService":
        result["spec"]["service"]["port"] = ports["kueue-visibility"]
    elif kind == "Service" and name in (WEBHOOK_SERVICE, VISIBILITY_SERVICE):
        _external(result)
    return result


def webhook_certificates(pki: Path) -> dict[str, bytes]:
    """Return the files that Kueue keeps in its webhook Secret."""
    names = {"ca": "kueue-webhook-ca", "tls": "kueue-webhook"}
    return {
        f"{short}.{end}": (pki / f"{long}.{end}").read_bytes()
        for short, long in names.items()
        for end in ("crt", "key")
    }


def secret(certificates: Mapping[str, bytes]) -> Manifest:
    """Return the Secret in which Kueue looks for its certificates before it makes new ones."""
    data = {name: base64.b64encode(value).decode() for name, value in certificates.items()}
    meta = {"name": WEBHOOK_SECRET, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}


def objects(
    rendered: Iterable[Manifest], ports: Mapping[str, int], certificates: Mapping[str, bytes]
) -> list[Manifest]:
    """Return all that an instance applies, in an order that can be applied."""
    kept = [m for m in rendered if (m["kind"], m["metadata"]["name"]) != ("Secret", WEBHOOK_SECRET)]
    adapted = [adapt(manifest, ports) for manifest in kept]
    return sorted([*adapted, secret(certificates)], key=lambda m: m["kind"] not in _EARLY)


_EARLY = ("Namespace", "CustomResourceDefinition", "ServiceAccount")


def namespace() -> Manifest:
    """Return Kueue's namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def apply_all(api: Api, manifests: list[Manifest], mark: str) -> bool:
    """Write the objects unless exactly these were written before; return whether it wrote.

    The mark lies in the cluster itself: storage that is older than the data folder's other files,
    for example one that was restored, is found out.
    """
    found = api.find(APPLIED)
    if found is not None and found.get("data", {}).get("mark") == mark:
        return False
    api.apply(namespace())
    early = [m for m in manifests if m["kind"] in _EARLY]
    late = [m for m in manifests if m["kind"] not in _EARLY]
    # One object per request: a few at a time hide the waiting, more would only load the machine.
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(api.apply, early))
        list(pool.map(api.apply, late))
    wait_established(api, [m for m in early if m["kind"] == _EARLY[1]])
    meta = {"name": "local-cluster-applied", "namespace": NAMESPACE}
    api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"mark": mark}})
    return True


def _condition(manifest: Manifest, kind: str) -> bool:
    conditions: list[dict[str, Any]] = manifest.get("status", {}).get("conditions") or []
    return any(c["type"] == kind and c["status"] == "True" for c in conditions)


def wait_established(api: Api, crds: Iterable[Manifest], patience: float = 120.0) -> None:
    """Wait until the API server serves every one of these custom resources."""
    until = time.monotonic() + patience
    for crd in crds:
        path = path_of(crd)
        renew = time.monotonic() + 20
        while not _condition(api.find(path) or {}, "Established"):
            if time.monotonic() > until:
                msg = f"CustomResourceDefinition {crd['metadata']['name']} is not established"
                raise TimeoutError(msg)
            if time.monotonic() > renew:
                # An API server that was killed between accepting the names and establishing the
                # resource never comes back to it. It was never served, so nothing is lost.
                _renew(api, path, crd)
                renew = until
            time.sleep(0.1)


def _renew(api: Api, path: str, crd: Manifest) -> None:
    uid = api.get(path)["metadata"]["uid"]
    api.request("DELETE", path)
    while (api.find(path) or {}).get("metadata", {}).get("uid") == uid:
        time.sleep(0.1)
    api.apply(crd)


def _probe(api: Api) -> None:
    """Pass a made-up flavor through Kueue's webhooks without storing it."""
    body = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "webhook-probe"},
    }
    api.request("POST", "/apis/kueue.x-k8s.io/v1beta2/resourceflavors?dryRun=All", body)


def _visible(api: Api) -> None:
    """Raise while one of the two visibility APIs is not available."""
    for version in ("v1beta1", "v1beta2"):
        name = f"{version}.visibility.kueue.x-k8s.io"
        found = api.get(f"/apis/apiregistration.k8s.io/v1/apiservices/{name}")
        if not _condition(found, "Available"):
            # A change of the object makes the aggregator look again at once, not at its next turn.
            mark = {"metadata": {"annotations": {"local-cluster/looked": str(time.time_ns())}}}
            api.patch(f"/apis/apiregistration.k8s.io/v1/apiservices/{name}", mark)
            msg = f"{name} is not available"
            raise OSError(msg)


def wait_ready(api: Api, patience: float = 180.0) -> None:
    """Wait until Kueue's webhooks answer and both visibility APIs are available."""
    until = time.monotonic() + patience
    for check in (_probe, _visible):
        while True:
            try:
                check(api)
                break
            except _PASSING as error:
                if time.monotonic() > until:
                    msg = f"Kueue does not answer: {error}"
                    raise TimeoutError(msg) from error
            time.sleep(0.25)


def write_config(path: Path, content: Manifest) -> None:
    """Write a configuration as JSON, which every reader of YAML takes."""
    path.write_text(json.dumps(content, indent=2) + "\n")
