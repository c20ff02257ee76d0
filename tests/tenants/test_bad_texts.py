"""Bad names and texts, through the form and through the service, and on the pages."""

from urllib.parse import unquote

import pytest

from kube.edits import (
    PutTenant,
)
from tenants.forms.catalog import TenantForm
from tenants.forms.queues import EntryForm
from tenants.models import Request
from tenants.services import requests
from tests.tenants.bad import CATALOG, KEY, quota, quota_form, refusal_of

# --- names --------------------------------------------------------------------------------------------

NAMES_REFUSED = {
    "26": ["Team-A", "team_a", "team a", "team.a", "-a", "a-", "a--b", "a..b"],
    "27": ["a" * 64, "a" * 41],
    "28": ["команда", "团队", "tëam", "e\u0301", "ﬁ"],
    "29": ["te\u0430m"],
    "30": ["team\u202egpj", "a\u200bb", "\ufeffa", "a\u2028b", "😀", "a\u200d"],
    "31": ["a\x00b", "a\x1b[31m", "a\rb", "a\nb", "a\ud800b"],
    "32": ["abc\n", "abc\r\n", "\nabc"],
    "34": ["admin", "api", "static", "new", "..", ".", "login", "con", "nul"],
    "35": ["1e3", "0x10", "null", "true", "no", "~", "22:22", "2026-01-01", "=", "123"],
    "36": ["NLP", "nlp"],
    "37": ["x\nkind: ClusterRole", 'x"}, {"kind":"Secret', "{{7*7}}", "{% load %}", "${jndi:}",
           "$(id)", "; rm -rf", "' OR 1=1--"],
}  # fmt: skip
NAME_ROWS = [(row, value) for row, values in NAMES_REFUSED.items() for value in values]
NAME_IDS = [f"{row}-{value[:10]!a}" for row, value in NAME_ROWS]


@pytest.mark.parametrize(("row", "value"), NAME_ROWS, ids=NAME_IDS)
def test_form_refuses_a_name(row, value):
    form = TenantForm({"slug": value, "display_name": "x", "reason": "r"}, catalog=CATALOG)

    assert not form.is_valid()
    assert form.errors["slug"]


@pytest.mark.parametrize(("row", "value"), NAME_ROWS, ids=NAME_IDS)
def test_service_refuses_a_name(people, row, value):
    if value == "nlp":
        # For the service this is a change of the tenant that exists.
        problems = refusal_of(
            people, [PutTenant(slug="nlp", display_name="Language", cost_centre="1001")]
        )
    else:
        problems = refusal_of(people, [PutTenant(slug=value, display_name="x")])

    assert problems[0].message.isprintable()


@pytest.mark.parametrize(("row", "value"), NAME_ROWS, ids=NAME_IDS)
def test_page_refuses_a_name_without_an_error(client, people, row, value):
    client.force_login(people.dave)
    sent = {"slug": value.encode("utf-8", "replace").decode(), "display_name": "x", "reason": "r",
            "form_key": "form-key-0123456789"}  # fmt: skip

    answer = client.post("/catalog/lab/tenants/new", sent)

    assert answer.status_code == 422
    assert not Request.objects.exists()


def test_form_says_which_name_would_do():
    form = TenantForm({"slug": "Team A", "display_name": "x", "reason": "r"}, catalog=CATALOG)

    assert "team-a" in form.errors["slug"][0]


@pytest.mark.parametrize("value", ["a" * 63, "a-1"])
def test_name_of_63_characters_is_a_queue(value):
    sent = {"queue": "nlp-train", "namespace": value, "name": value, "reason": "r"}

    assert EntryForm(sent, catalog=CATALOG).is_valid()


# --- texts ----------------------------------------------------------------------------------------------

SHOWN_AS_TEXT = {
    "37": ["{{7*7}}", "{% load %}", "${jndi:x}", "$(id)", "; rm -rf", "' OR 1=1--"],
    "38": ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '<p hx-get="/x" hx-trigger="load">',
           "</textarea>", "javascript:alert(1)"],
    "40": ['=HYPERLINK("http://x")', "+1", "-1+1", "@SUM", '"=1', "＝1"],  # noqa: RUF001
    "41": ["%0d%0aSet-Cookie:", "Subject: Bcc: x@y"],
}  # fmt: skip
TEXT_ROWS = [(row, value) for row, values in SHOWN_AS_TEXT.items() for value in values]


@pytest.mark.parametrize(("row", "value"), TEXT_ROWS)
def test_text_is_kept_and_shown_as_text(client, people, row, value):
    client.force_login(people.dave)
    sent = {
        "slug": "Bad Name",
        "display_name": value,
        "reason": value,
        "form_key": "form-key-0123456789",
    }

    page = client.post("/catalog/lab/tenants/new", sent).content.decode()
    row_ = requests.submit(
        actor=people.dave, cluster=people.cluster, tenant=None, kind="catalog", reason=value, key=KEY,
        edits=[PutTenant(slug="speech", display_name=value)],
    )  # fmt: skip
    trail = client.get("/audit/").content.decode()

    assert row_.reason == value
    for answer in (page, trail):
        assert "<script>alert" not in answer
        assert "<img src=x" not in answer
        assert '<p hx-get="/x"' not in answer
        assert "49" not in answer or "{{7*7}}" not in value or "{{7*7}}" in answer
    assert "</textarea></textarea>" not in page


LONG = {
    "39 long": "x" * 200_000,
    "39 lines": "x\n" * 10_000,
    "39 just over": "y" * 2001,
    "31 nul": "a\0b",
    "31 escape": "a\x1b[31m",
    "30 bidi": "a\u202eb",
    "empty": "",
    "blank": " \n ",
}


@pytest.mark.parametrize("value", LONG.values(), ids=LONG)
def test_form_and_service_refuse_a_reason(people, value):
    form = quota_form(reason=value)
    assert not form.is_valid()
    assert len(form.errors["reason"][0]) < 300

    with pytest.raises(requests.Invalid) as refused:
        requests.submit(
            actor=people.alice, cluster=people.cluster, tenant=people.nlp, kind="quota",
            edits=[quota(nominal=17)], reason=value, key=KEY,
        )  # fmt: skip
    assert refused.value.problems[0].field == "reason"


def test_reason_of_2000_characters_is_taken():
    assert quota_form(reason="y" * 2000).is_valid()


def test_line_ends_of_a_browser_count_once():
    form = quota_form(reason="a\r\nb\r\n")

    assert form.is_valid()
    assert form.cleaned_data["reason"] == "a\nb"


@pytest.mark.parametrize("value", ["команда", "Équipe", "团队", "Team & <b>"])
def test_display_name_may_be_in_any_script(value):
    form = TenantForm({"slug": "speech", "display_name": value, "reason": "r"}, catalog=CATALOG)

    assert form.is_valid(), form.errors


@pytest.mark.parametrize("value", ["e\u0301", "a\u202eb", "a\u200bb", "a\nb", "x" * 201])
def test_display_name_has_nothing_hidden(value):
    form = TenantForm({"slug": "speech", "display_name": value, "reason": "r"}, catalog=CATALOG)

    assert not form.is_valid()
    assert form.errors["display_name"]


@pytest.mark.parametrize("value", ["%0d%0aSet-Cookie:%20a=b", "%0aBcc:%20x@y", "%250d%250aX:y"])
def test_no_header_is_made_from_what_was_sent(client, people, value):  # row 41
    client.force_login(people.alice)
    paths = (f"/t/nlp/?tab={value}", f"/jobs/?q={value}", f"/t/{value}/", f"/login/?next=/{value}",
             f"/requests/?state={value}", f"/api/v1/jobs/?cursor={value}")  # fmt: skip
    for path in paths:
        answer = client.get(path, headers={"x-request-id": unquote(value)})
        assert answer.status_code < 500
        assert "a" not in answer.cookies
        assert not any("\n" in text or "\r" in text for text in answer.headers.values())
        assert "Bcc" not in answer.headers
