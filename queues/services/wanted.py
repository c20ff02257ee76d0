"""The manifests of the newest revision, to tell an object in sync from a drifted one."""

from __future__ import annotations

from kube.diff import diff
from kube.render import render
from queues.services.observed import Object
from tenants.models import Cluster, Revision
from tenants.services.catalog import head


class Wanted:
    """What the catalog of one cluster wants its objects to be."""

    def __init__(self, cluster: Cluster) -> None:
        """Know no revision yet."""
        self.cluster = cluster
        self.number = -1
        self.manifests: dict[tuple[str, str, str], Object] = {}

    def renew(self) -> bool:
        """Read the newest revision if it is another one; return whether it was."""
        newest = Revision.objects.filter(cluster=self.cluster).order_by("-number")
        number = newest.values_list("number", flat=True).first() or 0
        if number == self.number:
            return False
        self.number = number
        manifests = render(head(self.cluster))
        self.manifests = {(m.kind, m.namespace, m.name): dict(m.body) for m in manifests}
        return True

    def in_sync(self, kind: str, namespace: str, name: str, live: Object) -> bool | None:
        """Return whether the owned fields are as wanted; ``None`` for what is not ours."""
        wanted = self.manifests.get((kind, namespace, name))
        return None if wanted is None else not diff(live, wanted)
