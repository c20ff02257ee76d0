"""Who answers, and what the portal shows of itself: TLS, addresses, secrets, threads."""

import socket
import ssl
import threading
import time

import pytest

from kube import errors
from kube.client import ClusterClient
from kube.connection import Connection, Timeouts
from kube.rbac import Identity
from tests.real import faultproxy as fault

SHORT = Timeouts(connect=1.0, read=1.0, total=3.0)


def test_a_certificate_of_another_authority(place, proxy):
    connection = Connection(server=proxy.server, ca_pem=place.ca_pem, token="t")
    with ClusterClient(connection) as client, pytest.raises(errors.TlsError):
        client.version()
    assert proxy.log == []


def test_a_certificate_of_another_name(place):
    with fault.FaultProxy(place.server, place.ca_pem, names=("cluster.example",)) as proxy:
        connection = Connection(server=proxy.server, ca_pem=proxy.ca_pem, token="t")
        with ClusterClient(connection) as client, pytest.raises(errors.TlsError):
            client.version()


def test_nobody_listens(place):
    connection = Connection(
        server="https://127.0.0.1:9", ca_pem=place.ca_pem, token="t", timeouts=SHORT
    )
    with ClusterClient(connection) as client, pytest.raises(errors.Unreachable) as caught:
        client.version()
    assert caught.value.retry


def test_an_address_that_is_not_allowed(place):
    asked = []

    def allowed(address):
        asked.append(address)
        return False

    connection = Connection(
        server=place.server, ca_pem=place.ca_pem, token="t", address_allowed=allowed
    )
    with ClusterClient(connection) as client, pytest.raises(errors.Unreachable) as caught:
        client.version()
    assert asked == ["127.0.0.1"]
    assert not caught.value.retry


def test_no_secret_in_any_text(reader):
    token = reader.connection.token
    for thing in (reader.connection, reader.transport, reader):
        assert token not in repr(thing)
    with pytest.raises(errors.ClusterError) as caught:
        Connection(server=reader.connection.server, ca_pem="x", token=token)
    assert token not in str(caught.value)


def test_the_client_key_is_not_left_on_disk(place, tmp_path, monkeypatch):
    if place.client_key_pem is None:
        pytest.skip("the administrator's kubeconfig holds a token")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert isinstance(place.tls(), ssl.SSLContext)
    assert list(tmp_path.iterdir()) == []


def test_threads_share_a_client(reader):
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(reader.version())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(seen) == 8


def test_time_runs_out_on_a_dripping_answer(connect, proxy):
    """Each byte comes in time; the whole answer does not."""
    proxy.rules.add(verb="GET", action=fault.slow(0.5, pieces=40))
    client = connect(Identity.READER, through=proxy, timeouts=Timeouts(1.0, 1.0, 1.5))
    begun = time.monotonic()
    with pytest.raises(errors.Protocol):
        client.version()
    assert time.monotonic() - begun < 4


def test_a_server_that_speaks_no_tls(place):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        thread = threading.Thread(target=_plain_answer, args=(listener,))
        thread.start()
        connection = Connection(
            server=f"https://127.0.0.1:{port}", ca_pem=place.ca_pem, token="t", timeouts=SHORT
        )
        with ClusterClient(connection) as client, pytest.raises(errors.TlsError):
            client.version()
        thread.join(5)


def _plain_answer(listener):
    with listener.accept()[0] as found:
        found.recv(10)
        found.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def test_a_name_without_an_address(place):
    connection = Connection(
        server="https://no-such-host.invalid", ca_pem=place.ca_pem, token="t", timeouts=SHORT
    )
    with ClusterClient(connection) as client, pytest.raises(errors.Unreachable):
        client.version()


@pytest.mark.fault
@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"gitVersion": "v1", "major": "x", "minor": ""}'])
def test_a_version_that_is_none(connect, proxy, body):
    proxy.rules.add(path="version", action=fault.garbage(body))
    with pytest.raises(errors.Protocol):
        connect(Identity.READER, through=proxy).version()
