import pytest
from django.db import connection
from django.test import Client


def test_tells_that_the_process_is_alive(client: Client):
    response = client.get("/healthz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok"}


@pytest.mark.django_db
def test_runs_as_the_application_role():
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, session_user")
        assert cursor.fetchone() == ("gpuportal_app", "gpuportal_owner")


@pytest.mark.django_db
def test_tells_that_requests_may_come(client: Client):
    response = client.get("/readyz")

    assert response.json() == {
        "status": "ok",
        "checks": {"database": "ok", "migrations": "ok", "redis": "ok"},
    }
