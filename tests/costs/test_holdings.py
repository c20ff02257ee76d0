"""From what the observer has noted to the facts of hours: the sums are those of the conditions."""

from datetime import timedelta

import pytest

from costs.facts import Grant, Pool, Quality, Records
from costs.ledger import ledger
from costs.lending import Quota
from costs.selectors.holdings import holds, owners
from costs.selectors.listening import gaps
from costs.steps import Dated
from costs.times import HOUR, Span, hour_of, instant
from queues.models import Gap
from queues.services.intervals import Change, note
from tests.kube.kueue_life import GPU, START, Life

pytestmark = pytest.mark.django_db
A100 = Pool("a100", GPU)
BEGIN = instant(START)


def tell(lab, life, **more):
    note(lab.cluster, [Change("uid-a", life.look(), queue="nlp-train", cohort="research", **more)],
         life.now)  # fmt: skip


def ran(lab):
    """600 s queued, 30 s reserved, 2 h admitted, 40 s draining, 60 s away, and 1000 s again."""
    life = Life()
    steps = [
        (600, "reserve"), (30, "admit"), (7200, "evict"), (40, "release"), (60, "reserve"),
        (0, "admit"), (1000, "finish"),
    ]  # fmt: skip
    for wait, action in steps:
        life.wait(wait)
        getattr(life, action)()
        tell(lab, life)
    return life


def counted(lab, span):
    known = Records(
        holds=list(holds(lab.cluster.pk, span)),
        grants={("nlp-train", A100): Dated([(0, Grant((), Quota(16)))])},
        owners=owners(lab.cluster.pk, span).queues,
        gaps=gaps(lab.cluster.pk, span)[False],
    )
    return [fact for hour in ledger(known, span) for fact in hour.facts if fact.held]


def whole(life):
    return Span(hour_of(BEGIN), hour_of(instant(life.now)) + HOUR)


def test_the_facts_are_the_sums_of_the_conditions(lab):
    facts = counted(lab, whole(ran(lab)))

    assert {fact.tenant for fact in facts} == {"nlp"}
    assert sum(fact.reserved for fact in facts) == 8 * 30
    assert sum(fact.admitted for fact in facts) == 8 * (7200 + 1000)
    assert sum(fact.draining for fact in facts) == 8 * 40
    assert sum(fact.held for fact in facts) == 8 * 8270
    assert {fact.quality for fact in facts} == {Quality.OBSERVED}


def test_what_is_still_held_counts_to_the_end_of_the_span(lab):
    life = Life()
    life.reserve()
    life.admit()
    tell(lab, life)

    (fact,) = counted(lab, Span(BEGIN, BEGIN + HOUR))
    assert (fact.admitted, fact.committed) == (8 * HOUR, 16 * HOUR)


def test_an_end_that_nobody_saw_is_bounded(lab):
    life = Life()
    life.reserve()
    life.admit()
    tell(lab, life)
    life.wait(1800)
    note(lab.cluster, [Change("uid-a", None, gone=True)], life.now,
         since=START + timedelta(seconds=600))  # fmt: skip

    (fact,) = counted(lab, Span(BEGIN, BEGIN + HOUR))
    assert (fact.held_least, fact.held_most) == (8 * 600, 8 * 1800)
    assert fact.held_least < fact.held < fact.held_most
    assert fact.quality is Quality.ESTIMATED


def test_hours_that_nobody_watched_are_partly_known(lab):
    life = ran(lab)
    for healed, minutes in (("listed", 30), ("resumed", 40)):
        Gap.objects.create(
            cluster=lab.cluster, kind="Workload", starts=START + timedelta(minutes=minutes),
            ends=START + timedelta(minutes=minutes + 5), cause="lost", healed=healed,
        )  # fmt: skip

    first, *others = counted(lab, whole(life))
    assert (first.quality, first.coverage) == (Quality.PARTIAL, HOUR - 301)
    assert {fact.quality for fact in others} == {Quality.OBSERVED}
