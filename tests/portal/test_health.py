import pytest
from django.db import OperationalError
from django.test import Client

from portal.web import health


def test_tells_that_the_process_is_alive(client: Client):
    response = client.get("/healthz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok"}
    assert response["Cache-Control"] == "no-store"


@pytest.mark.django_db
def test_tells_that_requests_may_come(client: Client):
    response = client.get("/readyz")

    assert response.json() == {
        "status": "ok",
        "checks": {"database": "ok", "migrations": "ok", "redis": "ok"},
    }


@pytest.mark.django_db
def test_a_probe_may_use_any_address(client: Client):
    assert client.get("/healthz", headers={"Host": "10.0.0.7:8000"}).status_code == 200
    assert client.get("/readyz", headers={"Host": "10.0.0.7:8000"}).status_code == 200


def test_a_probe_cannot_write(client: Client):
    assert client.post("/healthz").status_code == 405


@pytest.mark.django_db
def test_a_migration_that_is_missing_is_told(client: Client, monkeypatch):
    monkeypatch.setattr(health, "known_migrations", lambda: frozenset({("tenants", "9999_later")}))

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["checks"]["migrations"] == "failed"


def test_a_broken_part_is_named_and_nothing_else_is_told(client: Client, monkeypatch):
    def broken() -> None:
        raise OperationalError("connection to postgresql://app:hunter2@db failed")

    monkeypatch.setitem(health.CHECKS, "database", broken)
    monkeypatch.setitem(health.CHECKS, "migrations", lambda: None)

    response = client.get("/readyz")

    assert response.json() == {
        "status": "unavailable",
        "checks": {"database": "failed", "migrations": "ok", "redis": "ok"},
    }
    assert b"hunter2" not in response.content
