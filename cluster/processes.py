"""The command line of every process of the control plane."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.certs import write_private

ORDER = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
    "kueue",
)
SERVICE_RANGE = "10.96.0.0/16"
POD_RANGE = "10.128.0.1/10"
NODE_ADDRESS = "10.64.0.1"


@dataclass(frozen=True)
class Layout:
    """Where one instance keeps what, and on which ports it listens."""

    data: Path
    ports: Mapping[str, int]
    binaries: Mapping[str, Path]

    @property
    def pki(self) -> Path:
        """Return the folder of certificates and keys."""
        return self.data / "pki"

    @property
    def conf(self) -> Path:
        """Return the folder of configuration files."""
        return self.data / "conf"

    @property
    def server(self) -> str:
        """Return the API server's URL."""
        return f"https://127.0.0.1:{self.ports['kube-apiserver']}"

    def pem(self, name: str) -> str:
        """Return the path of a file in the folder of certificates."""
        return str(self.pki / name)

    def kubeconfig(self, user: str) -> Path:
        """Return the path of a user's kubeconfig."""
        return self.conf / f"{user}.kubeconfig"


def kubeconfig(server: str, ca: bytes, cert: bytes, key: bytes, name: str) -> dict[str, Any]:
    """Return a kubeconfig with everything in it."""

    def text(value: bytes) -> str:
        return base64.b64encode(value).decode()

    cluster = {"server": server, "certificate-authority-data": text(ca)}
    user = {"client-certificate-data": text(cert), "client-key-data": text(key)}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }


def write_kubeconfigs(layout: Layout, name: str) -> None:
    """Write the kubeconfig of the administrator and of every process that needs one."""
    layout.conf.mkdir(exist_ok=True, mode=0o700)
    ca = (layout.pki / "ca.crt").read_bytes()
    for user in ("admin", "kube-controller-manager", "kube-scheduler", "kueue"):
        cert = (layout.pki / f"{user}.crt").read_bytes()
        key = (layout.pki / f"{user}.key").read_bytes()
        content = kubeconfig(layout.server, ca, cert, key, f"gpu-quota-portal-{name}")
        text = json.dumps(content, indent=2) + "\n"
        write_private(layout.kubeconfig(user), text.encode())


def kwok_config(port: int, stages: list[dict[str, Any]]) -> str:
    """Return kwok's configuration: all nodes are its own, with the general life of a pod."""
    options = {
        "manageAllNodes": True,
        # Without addresses a pod stays without one, and kwok then begins its life over and over.
        "cidr": POD_RANGE,
        "nodeIP": NODE_ADDRESS,
        "serverAddress": f"127.0.0.1:{port}",
        "podPlayStageParallelism": 8,
        "nodePlayStageParallelism": 4,
        "nodeLeaseParallelism": 4,
        "nodeLeaseDurationSeconds": 40,
        "enableDebuggingHandlers": False,
    }
    head = {"apiVersion": "config.kwok.x-k8s.io/v1alpha1", "kind": "KwokConfiguration"}
    documents = [head | {"options": options}, *stages]
    return "\n---\n".join(json.dumps(document) for document in documents) + "\n"


def _etcd(layout: Layout) -> list[str]:
    client = f"https://127.0.0.1:{layout.ports['etcd']}"
    peer = f"https://127.0.0.1:{layout.ports['etcd-peer']}"
    pem = layout.pem
    return [
        f"--data-dir={layout.data / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--client-cert-auth",
        f"--cert-file={pem('etcd.crt')}",
        f"--key-file={pem('etcd.key')}",
        f"--trusted-ca-file={pem('etcd-ca.crt')}",
        "--peer-client-cert-auth",
        f"--peer-cert-file={pem('etcd.crt')}",
        f"--peer-key-file={pem('etcd.key')}",
        f"--peer-trusted-ca-file={pem('etcd-ca.crt')}",
        # A machine that loses power may lose this data; a killed process does not.
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def _apiserver(layout: Layout, compaction: str) -> list[str]:
    pem = layout.pem
    return [
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={layout.ports['kube-apiserver']}",
        f"--etcd-servers=https://127.0.0.1:{layout.ports['etcd']}",
        f"--etcd-cafile={pem('etcd-ca.crt')}",
        f"--etcd-certfile={pem('etcd-client.crt')}",
        f"--etcd-keyfile={pem('etcd-client.key')}",
        f"--etcd-compaction-interval={compaction}",
        "--authorization-mode=RBAC",
        f"--client-ca-file={pem('ca.crt')}",
        f"--token-auth-file={pem('tokens.csv')}",
        f"--tls-cert-file={pem('apiserver.crt')}",
        f"--tls-private-key-file={pem('apiserver.key')}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pem('service-accounts.pub')}",
        f"--service-account-signing-key-file={pem('service-accounts.key')}",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--endpoint-reconciler-type=none",
        f"--requestheader-client-ca-file={pem('front-proxy-ca.crt')}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={pem('front-proxy.crt')}",
        f"--proxy-client-key-file={pem('front-proxy.key')}",
        "--profiling=false",
    ]


def _secondary(layout: Layout, name: str) -> list[str]:
    conf = layout.kubeconfig(name)
    return [
        f"--kubeconfig={conf}",
        f"--authentication-kubeconfig={conf}",
        f"--authorization-kubeconfig={conf}",
        "--bind-address=127.0.0.1",
        f"--secure-port={layout.ports[name]}",
        f"--tls-cert-file={layout.pem('apiserver.crt')}",
        f"--tls-private-key-file={layout.pem('apiserver.key')}",
        "--leader-elect=false",
        "--profiling=false",
    ]


def _controller_manager(layout: Layout) -> list[str]:
    return [
        *_secondary(layout, "kube-controller-manager"),
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={layout.pem('service-accounts.key')}",
        f"--root-ca-file={layout.pem('ca.crt')}",
        f"--cluster-signing-cert-file={layout.pem('ca.crt')}",
        f"--cluster-signing-key-file={layout.pem('ca.key')}",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    ]


def commands(layout: Layout, compaction: str = "5m", log_level: int = 2) -> dict[str, list[str]]:
    """Return the command line of every process by its name."""
    scheduler = _secondary(layout, "kube-scheduler")
    scheduler += ["--kube-api-qps=200", "--kube-api-burst=400"]
    arguments = {
        "etcd": _etcd(layout),
        "kube-apiserver": _apiserver(layout, compaction),
        "kube-controller-manager": _controller_manager(layout),
        "kube-scheduler": scheduler,
        "kwok": [
            f"--config={layout.conf / 'kwok.yaml'}",
            f"--kubeconfig={layout.kubeconfig('admin')}",
        ],
        "kueue": [
            f"--config={layout.conf / 'kueue.yaml'}",
            f"--kubeconfig={layout.kubeconfig('kueue')}",
            f"--zap-log-level={log_level}",
        ],
    }
    return {name: [str(layout.binaries[name]), *arguments[name]] for name in ORDER}
