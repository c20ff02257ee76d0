"""The cast, for tests about what tenants pay."""

from decimal import Decimal

import pytest

from costs.facts import Quality
from costs.rates import Basis, PriceKey
from costs.services import prices
from costs.times import HOUR
from costs.used import Use
from tests import cast
from tests.costs import stored
from tests.costs.ledger_rows import OCTOBER, book_of


@pytest.fixture
def lab(db):
    """Give the cast inside the test's own transaction."""
    return cast.make()


@pytest.fixture
def committed_lab(transactional_db):
    """Give the cast in committed rows, for threads."""
    return cast.make()


@pytest.fixture
def priced(lab):
    """Give the cast with a book of prices in use, and two hours of a pool, one of them missing."""
    book = book_of(lab)
    version = prices.draft(book=book, actor=lab.carol)
    for basis, rate in ((Basis.COMMITTED, "2.50"), (Basis.BORROWED, "1.25"), (Basis.LENT_CREDIT, "1.25"),
                        (Basis.ADMITTED, "3")):  # fmt: skip
        key = PriceKey("a100", basis)
        prices.set_price(version=version, key=key, starts=OCTOBER, rate=Decimal(rate))
    prices.activate(version=version, actor=lab.dave)
    use = Use(500 * HOUR, HOUR, HOUR)
    stored.store(
        lab.cluster,
        stored.fact(stored.at(1), "nlp", committed=16, own=12, lent=2, running=1, use=use),
        stored.fact(stored.at(1), "cv", committed=8, own=8, borrowed=2),
        stored.fact(stored.at(1, 1), "nlp", committed=16, quality=Quality.MISSING),
    )
    return lab
