import pytest

from cluster import NodeSpec, make_nodes, node_manifest, two_teams_nodes
from cluster.__main__ import parse_node_spec


def test_two_teams_share_32_gpus_in_two_racks():
    nodes = two_teams_nodes()
    assert [n.name for n in nodes] == ["gpu-1", "gpu-2", "gpu-3", "gpu-4"]
    assert sum(n.gpus for n in nodes) == 32
    assert [n.rack for n in nodes] == ["rack-1", "rack-1", "rack-2", "rack-2"]
    labels = node_manifest(nodes[0])["metadata"]["labels"]
    assert labels["gpuportal.io/flavor"] == "a100"
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-80GB"
    assert labels["topology.gpuportal.io/rack"] == "rack-1"
    assert labels["kubernetes.io/hostname"] == "gpu-1"


def test_a_node_can_be_tainted_and_of_another_make():
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    node = NodeSpec("x", gpus=4, resource="amd.com/gpu", taints=[taint])
    assert node_manifest(node)["spec"] == {"taints": [taint]}
    assert node.capacity()["amd.com/gpu"] == "4"


def test_a_node_without_gpus_has_no_such_resource():
    assert set(NodeSpec("x", gpus=0).capacity()) == {"cpu", "memory", "pods"}


def test_racks_take_neighbours():
    racks = [n.rack for n in make_nodes(5, racks=2)]
    assert racks == ["rack-1", "rack-1", "rack-1", "rack-2", "rack-2"]
    assert {n.rack for n in make_nodes(3)} == {""}


def test_the_short_form_of_the_command_line():
    nodes = parse_node_spec("4x8,racks=2,prefix=big,pool=train")
    assert [n.name for n in nodes] == ["big-1", "big-2", "big-3", "big-4"]
    assert nodes[0].all_labels()["pool"] == "train"
    assert parse_node_spec("two-teams") == two_teams_nodes()


@pytest.mark.parametrize("text", ["", "4", "x8", "4x", "4x8,racks=9", "4x8,bad", "-1x8"])
def test_short_forms_that_make_no_sense(text):
    with pytest.raises(ValueError, match=r".+"):
        parse_node_spec(text)
