import random
import socket

import pytest

from cluster import ports


def test_every_name_gets_its_own_port_below_the_range_of_outgoing_connections():
    chosen = ports.pick()
    assert set(chosen) == set(ports.NAMES)
    assert len(set(chosen.values())) == len(chosen)
    assert all(ports.LOWEST <= port < 32768 for port in chosen.values())


def test_ports_from_before_are_kept_while_they_are_free():
    before = ports.pick()
    assert ports.pick(before=before) == before


def test_a_port_that_someone_else_uses_now_is_replaced():
    before = ports.pick()
    with socket.socket() as other:
        other.bind(("127.0.0.1", before["kube-apiserver"]))
        other.listen()
        after = ports.pick(before=before)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"kube-apiserver"}


def test_a_port_from_before_outside_the_range_is_not_kept():
    assert ports.pick(["etcd"], before={"etcd": 40000})["etcd"] < 32768


def test_the_search_goes_round_and_ends():
    class Last(random.Random):
        def randint(self, a, b):
            return b

    chosen = ports.pick(["a", "b"], source=Last())
    assert len(set(chosen.values())) == 2


def test_no_port_left_is_an_error(monkeypatch):
    monkeypatch.setattr(ports, "is_free", lambda port: False)
    with pytest.raises(OSError, match="no free port"):
        ports.pick(["etcd"])


def test_the_data_folder_remembers(tmp_path):
    path = tmp_path / "ports.json"
    assert ports.keep(path) == ports.keep(path)
