from ipaddress import ip_network

import pytest

from kube.addresses import allowed, written


@pytest.mark.parametrize("address", ["10.0.0.4", "192.168.1.9", "34.90.1.2", "fd12::7", "2600::1"])
def test_a_clusters_usual_addresses_are_open(address):
    assert allowed(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "169.254.169.254", "fe80::1",
        "::ffff:169.254.169.254", "0.0.0.0", "::", "224.0.0.1", "255.255.255.255",  # noqa: S104 - an address to refuse, nothing is bound
        "fd00:ec2::254", "100.100.100.200", "localhost", "", "127.1", "0x7f000001",
    ],
)  # fmt: skip
def test_the_own_machine_and_metadata_are_closed(address):
    assert not allowed(address)


def test_a_list_opens_only_what_is_on_it():
    networks = [ip_network("10.20.0.0/16"), ip_network("::1/128")]
    assert allowed("10.20.3.4", networks)
    assert allowed("::ffff:10.20.3.4", networks)
    assert allowed("::1", networks)
    assert not allowed("10.21.0.1", networks)
    assert not allowed("127.0.0.1", networks)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0X7F.0.0.1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("2852039166", "169.254.169.254"),
        ("169.254.43518", "169.254.169.254"),
        ("localhost", "127.0.0.1"),
        ("localhost.", "127.0.0.1"),
        ("api.LOCALHOST", "127.0.0.1"),
        ("10.0.0.4", "10.0.0.4"),
        ("fe80::1", "fe80::1"),
    ],
)
def test_what_is_written_as_a_number_is_read_like_a_resolver_reads_it(host, address):
    assert written(host) == address


@pytest.mark.parametrize(
    "host",
    ["", "api.example.org", "127.0.0.1.nip.example", "1.2.3.4.5", "4294967296", "a1", "256.1.1.1"],
)
def test_a_name_is_left_to_the_resolver(host):
    assert written(host) is None
