"""Errors look the same everywhere: a code, a sentence, the number of the request."""

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import IntegrityError
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.test import Client, override_settings
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from psycopg.errors import ExclusionViolation, NotNullViolation, UniqueViolation
from rest_framework.decorators import api_view, permission_classes
from rest_framework.exceptions import NotAuthenticated, ValidationError
from rest_framework.permissions import AllowAny

from portal.web import errors, tokens
from portal.web.errors import NotAllowed, Refused, Stale

RAISE = {
    "refused": Refused("Too much <b>GPU</b>.", code="GP-1203", field="nominal"),
    "stale": Stale("Somebody was quicker."),
    "not-allowed": NotAllowed("Only a lead may."),
    "missing": Http404("secret-name"),
    "denied": PermissionDenied("secret-reason"),
    "suspicious": SuspiciousOperation("secret-detail"),
    "broken": RuntimeError("secret-state"),
    "unauthenticated": NotAuthenticated(),
    "invalid": ValidationError({"nominal": ["not a number"]}),
}


def refused_by_the_database(cause):
    """Return an error as Django raises it: its own, because of the driver's."""
    error = IntegrityError("secret-row")
    error.__cause__ = cause
    return error


RAISE |= {
    "taken": refused_by_the_database(UniqueViolation()),
    "overlaps": refused_by_the_database(ExclusionViolation()),
    "defect": refused_by_the_database(NotNullViolation()),
}


def fail(request, what):
    raise RAISE[what]


@api_view()
@permission_classes([AllowAny])
def api_fail(request, what):
    raise RAISE[what]


@csrf_exempt
def key(request):
    return HttpResponse(tokens.form_key(request))


urlpatterns = [
    path("fail/<what>", fail),
    path("api/fail/<what>", api_fail),
    path("key", key),
    path("form", lambda request: HttpResponse("ok")),
    path("private", lambda request: HttpResponseRedirect("/login/?next=/private")),
]
handler400 = "portal.web.errors.bad_request"
handler403 = "portal.web.errors.forbidden"
handler404 = "portal.web.errors.not_found"
handler500 = "portal.web.errors.server_error"


@pytest.fixture(autouse=True)
def urls():
    with override_settings(ROOT_URLCONF=__name__):
        yield


@pytest.fixture
def browser():
    return Client(raise_request_exception=False)


@pytest.mark.parametrize(
    ("what", "status", "code"),
    [
        ("refused", 422, "GP-1203"),
        ("stale", 409, "GP-1002"),
        ("not-allowed", 403, "GP-1003"),
        ("taken", 409, "GP-1002"),
        ("overlaps", 409, "GP-1002"),
        ("missing", 404, "GP-1404"),
        ("denied", 403, "GP-1403"),
        ("suspicious", 400, "GP-1400"),
        ("broken", 500, "GP-1500"),
    ],
)
def test_a_browser_gets_a_page_with_code_and_number(browser, what, status, code):
    response = browser.get(f"/fail/{what}", headers={"X-Request-ID": "request-12345"})

    assert response.status_code == status
    text = response.content.decode()
    assert code in text
    assert "request-12345" in text
    assert "<html" in text
    assert "secret" not in text
    assert "default-src 'none'" in response["Content-Security-Policy"]


@pytest.mark.parametrize(("what", "status"), [("refused", 422), ("missing", 404), ("broken", 500)])
def test_a_program_gets_the_same_facts_as_json(browser, what, status):
    response = browser.get(f"/fail/{what}", headers={"Accept": "application/json"})

    assert response.status_code == status
    assert response["Content-Type"] == "application/problem+json"
    assert set(response.json()) >= {"type", "title", "status", "detail", "code", "request_id"}
    assert "secret" not in response.content.decode()


def test_what_the_database_refuses_otherwise_is_a_defect(browser):
    assert browser.get("/fail/defect").status_code == 500


def test_an_error_names_its_field(browser):
    response = browser.get("/fail/refused", headers={"Accept": "application/json"})

    assert response.json()["field"] == "nominal"


def test_what_a_person_wrote_is_shown_as_text(browser):
    assert "<b>GPU</b>" not in browser.get("/fail/refused").content.decode()


def test_htmx_gets_only_the_panel(browser):
    response = browser.get("/fail/stale", headers={"HX-Request": "true"})

    assert response.status_code == 409
    assert b"<html" not in response.content
    assert b"GP-1002" in response.content


def test_a_missing_template_does_not_hide_the_error(browser, monkeypatch):
    def missing(*_args, **_kwargs):
        raise errors.TemplateDoesNotExist("errors/error.html")

    monkeypatch.setattr(errors, "render_to_string", missing)

    assert b"GP-1203" in browser.get("/fail/refused").content


@pytest.mark.parametrize(
    ("what", "status", "code"),
    [
        ("refused", 422, "GP-1203"),
        ("missing", 404, "GP-1404"),
        ("denied", 403, "GP-1403"),
        ("unauthenticated", 401, "GP-1401"),
        ("invalid", 400, "GP-1400"),
        ("broken", 500, "GP-1500"),
    ],
)
def test_the_api_answers_every_error_in_one_form(browser, what, status, code):
    response = browser.get(f"/api/fail/{what}")

    assert response.status_code == status
    assert response["Content-Type"] == "application/problem+json"
    facts = response.json()
    assert (facts["status"], facts["code"], facts["type"].rsplit(":")[-1]) == (status, code, code)
    assert facts["request_id"] == response["X-Request-ID"]
    assert "secret" not in response.content.decode()


def test_who_is_not_known_gets_a_challenge_and_no_redirect(browser):
    response = browser.get("/api/fail/unauthenticated")

    assert response["WWW-Authenticate"].startswith("Session ")
    assert "Location" not in response


def test_the_api_keeps_the_details_of_each_field(browser):
    body = browser.get("/api/fail/invalid").json()

    assert body["details"] == {"errors": {"nominal": ["not a number"]}}


def test_a_form_without_its_token_is_refused():
    client = Client(enforce_csrf_checks=True)

    response = client.post("/form")

    assert response.status_code == 403
    assert b"GP-1405" in response.content


@pytest.mark.parametrize("given", ["x\r\nSet-Cookie: a=b", "short", "a" * 65, "späť-und-mehr", ""])
def test_an_odd_request_id_is_replaced(browser, given):
    response = browser.get(
        "/form", headers={"X-Request-ID": given.encode("unicode_escape").decode()}
    )

    assert response["X-Request-ID"] != given
    assert len(response["X-Request-ID"]) == 32


def test_every_answer_says_what_may_be_kept(browser):
    response = browser.get("/form")

    assert response["Cache-Control"] == "private, no-store"
    assert {"HX-Request", "Cookie"} <= set(response["Vary"].split(", "))
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "same-origin"
    assert response["X-Frame-Options"] == "DENY"
    assert response["Cross-Origin-Opener-Policy"] == "same-origin"


def test_the_end_of_a_session_moves_the_whole_browser_to_the_login(browser):
    response = browser.get(
        "/private",
        headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/queues/7?sort=age"},
    )

    assert response.status_code == 401
    assert response["HX-Redirect"] == "/login/?next=/queues/7%3Fsort%3Dage"


def test_a_browser_is_redirected_to_the_login_as_usual(browser):
    assert browser.get("/private").status_code == 302


def test_a_form_brings_its_key(browser):
    made = tokens.new_key()

    assert browser.post("/key", {"form_key": made}).content.decode() == made
    assert browser.post("/key", headers={"Idempotency-Key": made}).content.decode() == made


@pytest.mark.parametrize(
    "given", ["", "short", "a" * 65, "white space in a key", "key\n" + "a" * 20]
)
def test_a_form_without_a_key_is_refused(browser, given):
    response = browser.post("/key", {"form_key": given}, headers={"Accept": "application/json"})

    assert (response.status_code, response.json()["code"]) == (400, "GP-1410")
