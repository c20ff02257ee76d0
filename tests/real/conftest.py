"""A real API server with a real Kueue: the run's own, or an outside one.

With PORTAL_TEST_KUBECONFIG set to an administrator's kubeconfig the same tests run against that
cluster. Every test uses names of its own and removes what it made.
"""

import os
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kube import rbac
from kube.client import ClusterClient
from kube.connection import Connection, Timeouts
from kube.credentials import read_kubeconfig
from kube.kinds import KINDS
from kube.manifest import Ref
from kube.rbac import Identity
from tests.real.faultproxy import FaultProxy

OUTSIDE = "PORTAL_TEST_KUBECONFIG"


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in Path(str(item.path)).parents:
            item.add_marker(pytest.mark.real)


@pytest.fixture(scope="session")
def place(request) -> Connection:
    """Return the administrator's way into the cluster."""
    outside = os.environ.get(OUTSIDE)
    if outside:
        return read_kubeconfig(Path(outside).read_text())
    plane = request.getfixturevalue("control_plane")
    return read_kubeconfig(plane.kubeconfig_path.read_text())


@pytest.fixture(scope="session")
def admin(place) -> Iterator[ClusterClient]:
    with ClusterClient(place) as client:
        rbac.install(client)
        yield client


@pytest.fixture(scope="session")
def connect(place, admin) -> Iterator[Callable[..., ClusterClient]]:
    """Return a function that opens a client with one of the portal's identities."""
    tokens = {who: rbac.issue_token(admin, who, 3600).value for who in Identity}
    opened: list[ClusterClient] = []

    def open_client(
        who: Identity,
        *,
        through: FaultProxy | None = None,
        timeouts: Timeouts | None = None,
        **more: Any,
    ) -> ClusterClient:
        server, ca = (through.server, through.ca_pem) if through else (place.server, place.ca_pem)
        found = {"token": tokens[who]} | more
        if "tokens" in more:
            found.pop("token")
        connection = Connection(server=server, ca_pem=ca, timeouts=timeouts or Timeouts(), **found)
        opened.append(ClusterClient(connection))
        return opened[-1]

    yield open_client
    for client in opened:
        client.close()


@pytest.fixture(scope="session")
def reader(connect) -> ClusterClient:
    return connect(Identity.READER)


@pytest.fixture(scope="session")
def applier(connect) -> ClusterClient:
    return connect(Identity.APPLIER)


@pytest.fixture
def proxy(place) -> Iterator[FaultProxy]:
    with FaultProxy(place.server, place.ca_pem) as found:
        yield found


@pytest.fixture
def name(admin) -> Iterator[str]:
    """Return a name of this test's own; objects whose names begin with it are removed."""
    prefix = f"door-{uuid.uuid4().hex[:8]}"
    yield prefix
    for kind in ("Job", "LocalQueue", "ClusterQueue", "Cohort", "ResourceFlavor"):
        remove(admin, kind, prefix)
    for kind in ("WorkloadPriorityClass", "ClusterRoleBinding", "ClusterRole", "Namespace"):
        remove(admin, kind, prefix)


def remove(admin: ClusterClient, kind: str, prefix: str) -> None:
    for item in admin.list_all(KINDS[kind].name)[0]:
        metadata = item["metadata"]
        if metadata["name"].startswith(prefix) or metadata.get("namespace") == prefix:
            ref = Ref(kind, metadata.get("namespace", ""), metadata["name"])
            admin.delete(ref, uid=metadata["uid"])


def eventually(check: Callable[[], Any], seconds: float = 10.0) -> Any:
    """Return the first true answer of ``check``; fail after ``seconds``."""
    until = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < until, "did not happen in time"
        time.sleep(0.05)
    return found
