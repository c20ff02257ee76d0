"""Connecting a cluster, replacing its tokens, and letting go of it again."""

import copy
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from queues import sealing
from queues.models import Credential, Link, Workload
from tenants.models import AuditEvent, Cluster
from tests.kube.test_credentials import CA, GOOD, KEY, b64
from tests.queues import pages, seen

LIST, PAGE, NEW = "/clusters/", "/clusters/lab/", "/clusters/register"
LEAVE = "/clusters/lab/disconnect"


pytestmark = pytest.mark.usefixtures("open_networks")


@pytest.fixture
def linked(lab):
    """A cluster that is connected, with what was seen of it."""
    seen.lab(lab.cluster)
    link = Link.objects.create(cluster=lab.cluster, server="https://10.0.0.1:6443", ca_pem=CA)
    Credential.objects.create(link=link, purpose="reader", sealed=b"x", key_id="k")
    return lab


# --- connecting -------------------------------------------------------------------------------------


def kubeconfig(token: str = "reader.token-1", **cluster) -> str:
    found = copy.deepcopy(GOOD)
    found["users"][0]["user"] = {"token": token}
    found["clusters"][0]["cluster"] |= cluster
    return json.dumps(found)


@pytest.fixture
def keys(settings):
    settings.SEALING_PUBLIC_KEY, settings.SEALING_PRIVATE_KEY = sealing.new_key_pair()


def body(**more) -> dict:
    values = {
        "slug": "prod", "display_name": "Production", "reader": kubeconfig(),
        "applier": kubeconfig("applier.token-2"),
    }  # fmt: skip
    return values | more


def test_connects_a_cluster(lab, client, keys):
    client.force_login(lab.dave)
    answer = client.post(NEW, body())

    assert (answer.status_code, answer["Location"]) == (303, "/clusters/prod/")
    made = Link.objects.get(cluster__slug="prod")
    assert made.server == "https://10.0.0.1:6443"
    assert not made.cluster.writing
    sealed = made.credentials.get(purpose="applier")
    opened = sealing.unseal(bytes(sealed.sealed), sealed.key_id, purpose=f"{made.pk}:applier")
    assert opened == "applier.token-2"
    assert "applier.token-2" not in str(list(AuditEvent.objects.values()))
    assert "being checked" in pages.text(client.get("/clusters/prod/"))


def test_takes_files(lab, client, keys):
    client.force_login(lab.dave)
    files = {
        "reader_file": SimpleUploadedFile("reader.yaml", kubeconfig().encode()),
        "applier_file": SimpleUploadedFile("applier.yaml", kubeconfig("other.token").encode()),
    }
    assert client.post(NEW, body(reader="", applier="") | files).status_code == 303


CERTIFICATE = json.dumps(
    GOOD
    | {
        "users": [
            {
                "name": "u",
                "user": {"client-certificate-data": b64(CA), "client-key-data": b64(KEY)},
            }
        ]
    }
)
REFUSED = [
    ({"slug": "A B"}, "slug", "no reserved word"),
    ({"slug": "new"}, "slug", "no reserved word"),
    ({"slug": "register"}, "slug", "no reserved word"),
    ({"slug": "lab"}, "slug", "There is a cluster of this name already."),
    ({"slug": ""}, "slug", "required"),
    ({"slug": "a\x00b"}, "slug", ""),
    ({"slug": "prod\n"}, "slug", "no reserved word"),
    ({"slug": "prod\u00a0"}, "slug", "no reserved word"),
    ({"slug": "   "}, "slug", "no reserved word"),
    ({"display_name": "   "}, "display_name", ""),
    ({"display_name": "a\u202eb"}, "display_name", ""),
    ({"display_name": ""}, "display_name", "required"),
    ({"display_name": "x" * 121}, "display_name", "120"),
    ({"reader": ""}, "reader", "Paste a kubeconfig, or choose a file."),
    ({"reader": "{"}, "reader", "neither YAML nor JSON"),
    ({"reader": "kind: Pod"}, "reader", "not a kubeconfig"),
    ({"reader": "x" * 300_000}, "reader", ""),
    ({"reader": kubeconfig(server="http://10.0.0.1")}, "reader", "https"),
    (
        {"reader": kubeconfig(**{"insecure-skip-tls-verify": True})},
        "reader",
        "check of the certificate",
    ),
    ({"applier": "kind: Config"}, "applier", "no list of contexts"),
    ({"applier": kubeconfig(server="https://10.0.0.2:6443")}, "applier", "another server"),
    ({"applier": kubeconfig()}, "applier", "identity to read with"),
    (
        {"applier": json.dumps(GOOD | {"users": [{"name": "u", "user": {"exec": {}}}]})},
        "applier",
        "run a command",
    ),
    ({"reader": CERTIFICATE}, "reader", "needs a token that it can renew"),
    ({"reader": kubeconfig(**{"certificate-authority-data": "bm9uZQ=="})}, "reader", ""),
]


@pytest.mark.parametrize(("change", "field", "said"), REFUSED)
def test_each_refusal_stands_beside_its_field(lab, client, keys, change, field, said):
    client.force_login(lab.dave)
    answer = client.post(NEW, body(**change))

    assert answer.status_code == 422
    assert said in " ".join(answer.context["form"].errors.get(field, []))
    assert answer.context["form"].errors.get(field)
    assert not Cluster.objects.filter(slug="prod").exists()


def test_spaces_of_a_keyboard_around_names_are_cut_off(lab, client, keys):
    client.force_login(lab.dave)

    assert client.post(NEW, body(slug=" prod ", display_name=" Production ")).status_code == 303
    assert Cluster.objects.get(slug="prod").display_name == "Production"


def test_replaces_tokens_when_told_so(linked, client, keys):
    client.force_login(linked.dave)
    start = client.get(f"{NEW}?cluster=lab")
    assert 'value="lab"' in pages.text(start)

    assert client.post(NEW, body(slug="lab", display_name="Lab", replace="on")).status_code == 303
    link = Link.objects.get(cluster=linked.cluster)
    assert link.preflight == {}
    assert set(link.credentials.values_list("key_id", flat=True)) != {"k"}


def test_portal_without_a_key_says_so(lab, client, settings):
    settings.SEALING_PUBLIC_KEY = ""
    client.force_login(lab.dave)
    answer = client.post(NEW, body())

    assert answer.status_code == 422
    assert answer.context["form"].non_field_errors()
    assert not Link.objects.exists()


@pytest.mark.parametrize("who", ["alice", "bob", "carol", "erin", "heidi"])
def test_connecting_is_for_administrators(lab, client, who):
    client.force_login(getattr(lab, who))

    assert client.get(NEW).status_code == 403
    assert client.post(NEW, body()).status_code == 403
    assert not Cluster.objects.filter(slug="prod").exists()


def test_hostile_file_is_not_read_to_its_end(lab, client, keys):
    client.force_login(lab.dave)
    file = SimpleUploadedFile("reader.yaml", b"\xff\xfe" + b"a" * 400_000)
    answer = client.post(NEW, body(reader="") | {"reader_file": file})

    assert answer.status_code == 422
    assert answer.context["form"].errors["reader"]


# --- a parameter that came twice ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["slug", "display_name", "reader"])
def test_what_came_twice_is_refused_beside_its_field(lab, client, keys, name):
    client.force_login(lab.dave)
    values = body()
    answer = client.post(NEW, values | {name: [values[name], values[name]]})

    assert answer.status_code == 422
    assert "sent twice" in " ".join(answer.context["form"].errors[name])


# --- letting go -----------------------------------------------------------------------------------------


def test_disconnecting_forgets_the_way_there_and_keeps_what_is_known(linked, client):
    client.force_login(linked.dave)
    jobs = Workload.objects.count()
    assert "Disconnect this cluster" in pages.text(client.get(PAGE))
    answer = client.post(LEAVE, {"slug": "lab"})

    assert (answer.status_code, answer["Location"]) == (303, PAGE)
    assert not Link.objects.exists()
    assert not Credential.objects.exists()
    assert not Cluster.objects.get(slug="lab").writing
    assert Workload.objects.count() == jobs
    event = AuditEvent.objects.get(action="cluster.disconnect")
    assert event.data["server"] == "https://10.0.0.1:6443"
    said = pages.words(client.get(PAGE))
    assert "Not connected" in said
    assert "Connect again" in said
    assert "Let the portal write" not in said
    assert "Not connected" in pages.words(client.get(LIST))


def test_it_can_be_connected_again(linked, client, keys):
    client.force_login(linked.dave)
    client.post(LEAVE, {"slug": "lab"})

    assert client.post(NEW, body(slug="lab", display_name="Lab", replace="on")).status_code == 303
    assert Link.objects.get().cluster == linked.cluster


def test_a_cluster_that_nothing_is_known_of_goes_as_a_whole(lab, client, keys):
    client.force_login(lab.dave)
    client.post(NEW, body())
    answer = client.post("/clusters/prod/disconnect", {"slug": " prod "})

    assert (answer.status_code, answer["Location"]) == (303, LIST)
    assert not Cluster.objects.filter(slug="prod").exists()
    assert AuditEvent.objects.filter(action="cluster.disconnect").count() == 1
    assert client.get("/clusters/prod/").status_code == 404


@pytest.mark.parametrize("values", [{}, {"slug": ""}, {"slug": "LAB"}, {"slug": "prod"}])
def test_without_its_name_nothing_is_disconnected(linked, client, values):
    client.force_login(linked.dave)
    answer = client.post(LEAVE, values)

    assert answer.status_code == 422
    assert "GP-4107" in pages.text(answer)
    assert Link.objects.exists()


def test_what_is_not_connected_is_not_disconnected_once_more(linked, client):
    client.force_login(linked.dave)
    client.post(LEAVE, {"slug": "lab"})
    answer = client.post(LEAVE, {"slug": "lab"})

    assert answer.status_code == 422
    assert "GP-4106" in pages.text(answer)


@pytest.mark.parametrize("who", ["alice", "bob", "carol", "erin"])
def test_disconnecting_is_for_administrators(linked, client, who):
    client.force_login(getattr(linked, who))

    assert "Disconnect this cluster" not in pages.text(client.get(PAGE))
    assert client.post(LEAVE, {"slug": "lab"}).status_code == 403
    assert Link.objects.exists()
