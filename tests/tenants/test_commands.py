"""The commands of this app, called as a shell calls them."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from kube import catalog_json
from tenants import access
from tenants.management.commands import bootstrap_admin
from tenants.models import Cluster, Request, User
from tests import cast


@pytest.fixture
def password(tmp_path):
    file = tmp_path / "password"
    file.write_text(f"{cast.PASSWORD}\n")
    return file


def bootstrap(*args):
    out = StringIO()
    call_command("bootstrap_admin", *args, stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_makes_the_first_administrator(password):
    said = bootstrap("Root", "--password-file", str(password))

    user = User.objects.get(username="root")
    assert user.check_password(cast.PASSWORD)
    assert access.rights(user).platform == {"admin"}
    assert cast.PASSWORD not in said


def test_is_refused_when_there_is_one(people, password):
    with pytest.raises(CommandError, match="already"):
        bootstrap("root", "--password-file", str(password))


@pytest.mark.django_db
def test_refuses_a_weak_password_and_leaves_nothing(tmp_path):
    file = tmp_path / "password"
    file.write_text("123456")

    with pytest.raises(CommandError, match="too short"):
        bootstrap("root", "--password-file", str(file))
    assert not User.objects.exists()


@pytest.mark.django_db
def test_says_when_the_file_is_not_there(tmp_path):
    with pytest.raises(CommandError, match="cannot be read"):
        bootstrap("root", "--password-file", str(tmp_path / "nothing"))


@pytest.mark.django_db
def test_asks_twice_on_a_terminal(monkeypatch):
    answers = iter([cast.PASSWORD, "something else"])
    monkeypatch.setattr(bootstrap_admin.getpass, "getpass", lambda _: next(answers))

    with pytest.raises(CommandError, match="not the same"):
        bootstrap("root")


def load(people, data, **options):
    out = StringIO()
    wanted = {"cluster": "fresh", "actor": "dave", **options}
    Cluster.objects.get_or_create(slug="fresh", display_name="Fresh")
    call_command("load_catalog", str(data), stdout=out, **wanted)
    return out.getvalue()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps(catalog_json.dump(cast.catalog())))
    return path


def test_makes_a_request_of_a_file(people, file):
    said = load(people, file)

    row = Request.objects.get()
    assert str(row.pk) in said
    assert (row.kind, row.author, row.targets) == ("catalog", people.dave, ["catalog"])


def test_same_file_twice_is_one_request(people, file):
    load(people, file)
    load(people, file)

    assert Request.objects.count() == 1


BROKEN = {
    "no JSON": ("{", "not JSON"),
    "two keys": ('{"flavors": [], "flavors": []}', "written twice"),
    "unknown field": ('{"flavours": []}', "Unknown field"),
    "bad number": ('{"flavors": [{"name": "a", "capability": "b", "capacity": "8"}]}', "capacity"),
    "no rules kept": ('{"cohorts": [{"name": "a", "parent": "a"}]}', "own parent"),
}


@pytest.mark.parametrize(("text", "said"), BROKEN.values(), ids=BROKEN)
def test_names_the_field_of_a_broken_file(people, tmp_path, text, said):
    path = tmp_path / "catalog.json"
    path.write_text(text)

    with pytest.raises(CommandError, match=said):
        load(people, path)
    assert not Request.objects.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"actor": "alice"}, "GP-1003"),
        ({"actor": "nobody"}, "no person"),
        ({"cluster": "x"}, "no cluster"),
    ],
)
def test_refuses_who_may_not_or_is_not_there(people, file, options, said):
    with pytest.raises(CommandError, match=said):
        load(people, file, **options)
