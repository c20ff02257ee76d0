import stat

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from cluster import certs


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return certs.ensure(tmp_path_factory.mktemp("instance") / "pki")


def load(pki, name):
    return x509.load_pem_x509_certificate((pki / f"{name}.crt").read_bytes())


def test_nothing_is_readable_for_others(pki):
    assert stat.S_IMODE(pki.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in pki.iterdir()} == {0o600}


def test_certificates_are_signed_by_the_authority_of_their_part(pki):
    for name, authority in (
        ("apiserver", "ca"),
        ("admin", "ca"),
        ("kueue", "ca"),
        ("front-proxy", "front-proxy-ca"),
        ("etcd-client", "etcd-ca"),
        ("kueue-webhook", "kueue-webhook-ca"),
    ):
        load(pki, name).verify_directly_issued_by(load(pki, authority))


def test_kueue_has_the_name_of_its_service_account(pki):
    subject = load(pki, "kueue").subject
    name = subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
    assert name == "system:serviceaccount:kueue-system:kueue-controller-manager"
    groups = [a.value for a in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    assert groups == ["system:serviceaccounts", "system:serviceaccounts:kueue-system"]


def test_a_second_call_changes_nothing(pki):
    before = {path.name: path.read_bytes() for path in pki.iterdir()}
    certs.ensure(pki)
    assert {path.name: path.read_bytes() for path in pki.iterdir()} == before
