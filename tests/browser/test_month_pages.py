"""The pages of closing a month in a real browser: readable by everybody, at every width."""

from decimal import Decimal
from itertools import product
from typing import Any

import pytest
import time_machine

from costs.models import PolicyVersion, PriceVersion
from costs.policy import Policy
from costs.services import disputes, periods, prices, reconcile
from tests import cast
from tests.browser.test_costs_pages import chrome, visit  # noqa: F401 - a fixture
from tests.browser.test_look import AXE, RULES
from tests.costs.ledger_rows import OCTOBER, closed, item
from tests.costs.test_reconcile import AFTER, november

pytestmark = [
    pytest.mark.browser,
    pytest.mark.enable_socket,
    pytest.mark.django_db(transaction=True),
]
PAGES = {
    "home": ("dave", "/costs/"),
    "own": ("alice", "/costs/"),
    "board": ("dave", "/costs/periods/{month}/"),
    "closed": ("dave", "/costs/periods/{closed}/"),
    "close": ("dave", "/costs/periods/{month}/close/"),
    "correct": ("dave", "/costs/periods/{closed}/correct/"),
    "finding": ("dave", "/costs/findings/{finding}/"),
    "tolerances": ("dave", "/costs/tolerances/"),
    "book": ("dave", "/costs/books/{book}/"),
    "version": ("dave", "/costs/versions/{version}/"),
    "new policy": ("dave", "/costs/books/{book}/policy/"),
    "policy": ("dave", "/costs/policies/{policy}/"),
    "new dispute": ("alice", "/t/nlp/statements/{closed}/dispute/"),
    "dispute": ("dave", "/t/nlp/disputes/{dispute}/"),
}


@pytest.fixture
def lab(settings) -> Any:
    settings.LIVE_URL = ""
    return cast.make()


@pytest.fixture
def keys(lab) -> dict[str, int]:
    """A closed October with a dispute, and a November with findings, prices and a policy to come."""
    with time_machine.travel(AFTER, tick=False):
        month = november(lab, purpose="chargeback", hours=2)
        reconcile.run(period=month)
    book = month.book
    october = closed(lab, book, 10, item("nlp", "10000.00"), item("cv", "6666.67"))
    said = disputes.dispute(
        statement=october.statements.get(tenant=lab.nlp), flavor="a100", basis="committed",
        text="Too much", actor=lab.alice,
    )  # fmt: skip
    periods.correct(
        closed=october, period=month, amount=Decimal("-25.00"), reason="late",
        weights={"nlp": Decimal(1)},
    )  # fmt: skip
    prices.draft(book=book, actor=lab.carol)
    prices.propose_policy(book=book, starts=OCTOBER, policy=Policy(), actor=lab.carol)
    return {
        "month": month.pk, "closed": october.pk, "book": book.pk, "dispute": said.pk,
        "finding": month.discrepancies.first().pk,
        "version": PriceVersion.objects.get(state="draft").pk,
        "policy": PolicyVersion.objects.get(state="draft").pk,
    }  # fmt: skip


def test_nothing_stands_in_the_way_of_anybody(chrome, live_server, lab, keys):  # noqa: F811
    """All pages at once, so that the engine is filled and the browser opened once."""
    wrong = {}
    for width, scheme in product((1440, 390), ("light", "dark")):
        size = {"width": width, "height": 900}
        for who in ("dave", "alice"):
            context, complaints = visit(
                chrome, live_server.url, getattr(lab, who), viewport=size, color_scheme=scheme
            )
            page = context.new_page()
            for name, (viewer, path) in PAGES.items():
                if viewer != who:
                    continue
                assert page.goto(path.format(**keys)).status == 200
                if page.evaluate("document.documentElement.scrollWidth") != width:
                    wrong[name, width] = "wide"
                page.evaluate(AXE.read_text())
                found = page.evaluate("tags => axe.run({runOnly: tags, preload: false})", RULES)
                for one in found["violations"]:
                    wrong[name, one["id"]] = [
                        node["failureSummary"] + node["html"] for node in one["nodes"]
                    ]
            context.close()
            assert complaints == []

    assert wrong == {}


def test_a_policy_is_looked_at_without_javascript(chrome, live_server, lab, keys):  # noqa: F811
    context, _complaints = visit(chrome, live_server.url, lab.dave, java_script_enabled=False)
    page = context.new_page()
    page.goto(PAGES["new policy"][1].format(**keys))
    page.get_by_label("Tenants, in equal parts").first.check()
    page.get_by_role("button", name="Show the effect").click()
    assert page.get_by_role("heading", name="In words").is_visible()
    assert page.get_by_text("What is left of a pool is paid in equal parts.").is_visible()
    context.close()
