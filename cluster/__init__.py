"""A real Kubernetes with a real Kueue on this machine, for the demo and for tests."""

from cluster.build import BuildError
from cluster.control import ControlError, NotRunningError
from cluster.instance import Cluster, ClusterError, Process
from cluster.jobs import JobSpec, job_manifest
from cluster.kueue import KueueOptions
from cluster.nodes import NodeSpec, make_nodes, node_manifest, two_teams_nodes

__all__ = [
    "BuildError",
    "Cluster",
    "ClusterError",
    "ControlError",
    "JobSpec",
    "KueueOptions",
    "NodeSpec",
    "NotRunningError",
    "Process",
    "job_manifest",
    "make_nodes",
    "node_manifest",
    "two_teams_nodes",
]
