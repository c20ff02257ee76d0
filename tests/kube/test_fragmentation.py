"""Free devices that lie together: per host, per rack, in all, and what is not known of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.fragmentation import HOSTNAME, Machine, fragmentation

RACK, BLOCK = "example.com/rack", "example.com/block"


def machine(name, used, rack="r1", devices=8, block="b1", **more):
    labels = {RACK: rack, BLOCK: block} if rack else {}
    return Machine(name, devices, used, labels=labels, **more)


def test_a_quota_that_is_free_and_lies_apart():
    """Sixteen devices are free, and no job of sixteen on one rack can start."""
    found = fragmentation(
        [machine(f"n{n}", used, rack) for n, (used, rack) in enumerate(
            [(4, "r1"), (4, "r1"), (6, "r2"), (2, "r2")])],
        (BLOCK, RACK, HOSTNAME),
    )  # fmt: skip
    block, rack, host = found.levels

    assert found.whole.free == 16
    assert [level.label for level in found.levels] == [BLOCK, RACK, HOSTNAME]
    assert (block.largest(1), rack.largest(1), host.largest(1)) == (16, 8, 6)
    assert (block.largest(4), rack.largest(4), host.largest(4)) == (12, 8, 4)
    assert (block.largest(8), rack.largest(8), host.largest(8)) == (0, 0, 0)
    assert found.pods == (1, 2, 4, 8)
    assert found.stranded == 16


def test_the_best_domain_is_named_by_its_path():
    found = fragmentation(
        [machine("a", 0, "r1"), machine("b", 4, "r2"), machine("c", 0, "r2", block="b2")],
        (BLOCK, RACK),
    )

    assert found.levels[1].best(8).path == ("b1", "r1")
    assert found.levels[2].best(8).path == ("b1", "r1", "a")
    assert [found.levels[2].best(8).name, found.whole.name] == ["a", ""]
    assert [domain.path for domain in found.levels[1].domains] == [
        ("b1", "r1"), ("b2", "r2"), ("b1", "r2"),
    ]  # fmt: skip


def test_racks_of_one_name_in_two_blocks_are_two():
    rows = [machine("a", 0, "r1", block="b1"), machine("b", 0, "r1", block="b2")]

    assert fragmentation(rows, (BLOCK, RACK)).levels[1].largest(8) == 8


def test_without_a_topology_there_are_hosts_only():
    found = fragmentation([machine("a", 0, ""), machine("b", 8, "")])

    assert [level.label for level in found.levels] == [HOSTNAME]
    assert found.levels[0].largest(8) == 8
    assert found.unplaced == ()


def test_a_machine_without_the_label_is_in_no_rack():
    found = fragmentation([machine("a", 4), machine("b", 0, "")], (RACK,))

    assert found.levels[0].largest(1) == 4
    assert found.levels[1].largest(1) == 8
    assert [each.name for each in found.unplaced] == ["b"]


def test_what_is_not_known_is_neither_free_nor_taken():
    found = fragmentation([machine("a", None), machine("b", 2)], (RACK,))

    assert not found.known
    assert (found.whole.free, found.whole.unknown, found.whole.devices) == (6, 8, 16)
    assert found.levels[0].largest(1) == 6


def test_a_machine_that_takes_no_pods_gives_nothing():
    found = fragmentation([machine("a", 0, ready=False), machine("b", None, ready=False)], (RACK,))

    assert (found.whole.free, found.whole.unknown, found.whole.devices) == (0, 0, 0)
    assert [each.name for each in found.out] == ["a", "b"]
    assert found.known
    assert found.levels[0].best(1) is None
    assert found.pods == ()


def test_more_pods_than_devices_leave_nothing():
    assert fragmentation([machine("a", 12)]).whole.free == 0


@pytest.mark.parametrize(
    ("devices", "sizes"), [(1, (1,)), (6, (1, 2, 4, 6)), (8, (1, 2, 4, 8)), (0, ())]
)
def test_sizes_worth_asking_about(devices, sizes):
    assert fragmentation([machine("a", 0, devices=devices)]).pods == sizes


machines = st.lists(
    st.builds(
        Machine,
        name=st.integers(0, 10_000).map(str),
        devices=st.integers(0, 16),
        used=st.none() | st.integers(0, 20),
        ready=st.booleans(),
        labels=st.fixed_dictionaries(
            {}, optional={BLOCK: st.sampled_from("xy"), RACK: st.sampled_from("abc")}
        ),
    ),
    unique_by=lambda each: each.name,
    max_size=12,
)


@given(machines, st.integers(1, 16))
def test_the_wider_the_level_the_larger_the_gang(rows, pod):
    found = fragmentation(rows, (BLOCK, RACK))
    placed = {each.name for each in rows} - {each.name for each in found.unplaced}
    inside = fragmentation([each for each in rows if each.name in placed], (BLOCK, RACK))
    gangs = [inside.whole.gang(pod), *(level.largest(pod) for level in inside.levels)]

    assert gangs == sorted(gangs, reverse=True)
    assert all(gang % pod == 0 for gang in gangs)


@given(machines)
def test_every_free_device_is_in_one_domain_of_each_level(rows):
    found = fragmentation(rows, (BLOCK, RACK))
    lost = sum(each.free for each in found.unplaced)

    for level in found.levels:
        total = sum(domain.free for domain in level.domains)
        assert total == found.whole.free - (lost if level.label != HOSTNAME else 0)
    assert 0 <= found.stranded <= found.whole.free


@given(machines, st.randoms())
def test_the_order_of_machines_means_nothing(rows, random):
    mixed = random.sample(rows, len(rows))

    assert fragmentation(mixed, (BLOCK, RACK)) == fragmentation(rows, (BLOCK, RACK))
