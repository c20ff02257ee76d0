"""What lost work costs, and what of it a policy has given back, by whom."""

from decimal import Decimal
from fractions import Fraction

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st

from costs.lost import PLATFORM, Funder, Loss, LostRule, Why, back, since_checkpoint
from costs.models import StatementLine
from costs.money import from_grains, grains, rounded
from costs.passing import Tally, divide, give_back, second
from costs.policy import Bucket, NotAPolicy, Policy
from costs.selectors import losses, previews
from costs.services import reconcile
from costs.statements import statement
from costs.times import HOUR, Span, instant
from kube.evictions import PREEMPTIONS, Cause
from tests.costs import stored, test_passing
from tests.costs.losing import clock, evict, promise, run
from tests.costs.make import A100, DAY
from tests.costs.test_passing import bills, facts, policies, pools
from tests.costs.test_reconcile import AFTER, november, owed

TAKER, ALL = LostRule(Funder.TAKER), LostRule(Funder.PLATFORM, failures=True)


def loss(cause="preempted_reclaim", *, seconds=600, devices=16, within=16, taker="cv"):
    return Loss(DAY, "nlp", A100, cause, seconds, devices, within, taker)


def test_w7_lost_work_is_worth_the_rate_of_the_hour():
    """16 GPUs evicted 2 h 10 after their start, checkpoints every 30 min, 2.50 an hour: 6.67."""
    lost = loss(seconds=since_checkpoint(2 * HOUR + 600, 30 * 60))
    tally = Tally()
    give_back(tally, [lost], Policy(lost=TAKER), Fraction(grains(Decimal("2.50")), HOUR))

    assert lost.lost == 9_600
    assert {key.payer: (key.basis, rounded(from_grains(x), "USD")) for key, x in tally.grains.items()} == {
        "nlp": ("lost_credit", Decimal("-6.67")), "cv": ("lost_work", Decimal("6.67")),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("of", "rule", "found"),
    [
        (loss(), LostRule(), (0, PLATFORM, Why.NO_RULE)),
        (loss(), TAKER, (9600, "cv", Why.GIVEN)),
        (loss(), ALL, (9600, PLATFORM, Why.GIVEN)),
        (loss(seconds=3000), LostRule(Funder.TAKER, 600), (9600, "cv", Why.PART)),
        (loss(within=4), TAKER, (2400, "cv", Why.PART)),
        (loss(within=0), TAKER, (0, PLATFORM, Why.BORROWED)),
        (loss(within=0), ALL, (0, PLATFORM, Why.BORROWED)),
        (loss(taker="nlp"), ALL, (0, PLATFORM, Why.OWN)),
        (loss("preempted_in_queue", taker="nlp"), TAKER, (0, PLATFORM, Why.OWN)),
        (loss("preempted", taker=None), ALL, (0, PLATFORM, Why.UNKNOWN)),
        (loss("preempted", taker=""), TAKER, (9600, PLATFORM, Why.GIVEN)),
        (loss("node_failure", taker=None), ALL, (9600, PLATFORM, Why.GIVEN)),
        (loss("queue_stopped", within=0), ALL, (0, PLATFORM, Why.BORROWED)),
        (loss("node_failure"), TAKER, (0, PLATFORM, Why.NO_RULE)),
        (loss("pods_ready_timeout"), ALL, (0, PLATFORM, Why.OWN)),
        (loss("other"), ALL, (0, PLATFORM, Why.UNKNOWN)),
    ],
)
def test_what_is_given_back_and_by_whom(of, rule, found):
    assert back(of, rule) == found


def test_every_cause_that_the_history_knows_has_its_place():
    """Those that say nothing of whose doing it was stay unknown, on purpose."""
    unknown = {each for each in Cause if back(loss(each), ALL).why is Why.UNKNOWN}

    assert unknown == {Cause.OTHER, Cause.UNKNOWN}
    assert {each for each in PREEMPTIONS if back(loss(each), TAKER).seconds} == PREEMPTIONS


def test_a_rule_cannot_give_back_less_than_nothing():
    with pytest.raises(NotAPolicy):
        Policy(lost=LostRule(most=-1))


rules = st.builds(LostRule, st.sampled_from(Funder), st.integers(0, 2 * HOUR), st.booleans())
gone = st.lists(
    st.builds(
        Loss, st.just(DAY), st.sampled_from(test_passing.TENANTS), st.just(A100),
        st.sampled_from([str(each) for each in Cause]), st.integers(0, 5 * HOUR),
        st.integers(1, 16), st.none() | st.integers(0, 16),
        st.none() | st.sampled_from(test_passing.TENANTS),
    ),
    max_size=5,
)  # fmt: skip


@given(facts(), pools, policies, bills, gone, rules)
def test_with_lost_work_the_statements_are_still_the_bill(found, pool, policy, bill, gone, rule):
    policy = Policy(policy.base, policy.borrow, policy.credit, policy.rest, lost=rule)
    tally = Tally()
    divide(tally, found, pool, policy, bill)
    give_back(tally, gone, policy, second(found, pool, policy, bill))

    assert tally.total == bill.grains
    cents = statement(tally.payers(), "USD")
    assert sum(cents.values()) == round(Decimal(bill.grains).scaleb(-10) * 100)
    given = sum(x for key, x in tally.grains.items() if key.basis == "lost_credit")
    paid = sum(x for key, x in tally.grains.items() if key.basis in ("lost_work", "lost"))
    assert given + paid == 0


# -- from the rows of the observer to statements -------------------------------------------------


@pytest.fixture
def lost(lab):
    """An hour in which nlp, of 16, held 24 and lost an old job of 8 to cv, and one to a machine."""
    promise(lab.cluster, "nlp-train", 16)
    promise(lab.cluster, "cv-train", 8)
    run(lab.cluster, "newest", "nlp-train", 8, clock("23:10"), None)
    old = run(lab.cluster, "old", "nlp-train", 8, clock("21:00"), clock("23:20"))
    new = run(lab.cluster, "new", "nlp-train", 8, clock("23:05"), clock("23:20"))
    late = run(lab.cluster, "late", "nlp-train", 10, clock("23:30"), clock("23:50"))
    run(lab.cluster, "boss", "cv-train", 8, clock("23:20"), None, namespace="cv")
    evict(
        old, "nlp-train", clock("23:20"), "preempted_reclaim", 90, "uid-boss", "/research/cv-train"
    )
    evict(new, "nlp-train", clock("23:20"), "node_failure", 15)
    evict(late, "nlp-train", clock("23:50"), "preempted_fair_sharing", 20, "uid-boss")
    return lab


HOURS = Span(instant(clock("23:00")), instant(clock("23:00")) + HOUR)


@pytest.mark.django_db
def test_rows_of_the_observer_say_what_was_within_the_quota_and_who_took_it(lost):
    found = [each.loss for each in losses.of_cluster(lost.cluster.pk, HOURS, "nlp")]

    assert [(x.cause, x.seconds, x.devices, x.within, x.taker) for x in found] == [
        ("preempted_reclaim", 5400, 8, 8, "cv"),  # the oldest one
        ("node_failure", 900, 8, 8, None),
        # After both are gone the newest has 8 of 16, and of the ten devices two are above.
        ("preempted_fair_sharing", 1200, 10, 8, "cv"),
    ]
    assert losses.of_cluster(lost.cluster.pk, HOURS, "cv") == []


@pytest.mark.django_db
def test_a_statement_gives_lost_work_back_and_another_one_pays_it(lost):
    """W16's hour costs 3.00 for each device: of old an hour is given back, of late 20 minutes."""
    period = november(lost, policy=Policy(lost=TAKER))
    reconcile.run(period=period, now=AFTER)
    lines = StatementLine.objects.filter(statement__period=period, basis__startswith="lost")

    assert {(x.statement.payer_name[:8], x.basis, x.quantity, x.rate, x.amount) for x in lines} == {
        ("Language", "lost_credit", Decimal("10.666667"), 3, Decimal("-32.00")),
        ("Vision B", "lost_work", Decimal("10.666667"), 3, Decimal("32.00")),
    }
    assert owed(period) == {"nlp": "19.00", "cv": "53.00", "*unsold": "24.00"}


@pytest.mark.django_db
def test_the_platform_gives_back_what_its_machines_destroy(lost):
    rule = LostRule(Funder.PLATFORM, 30 * 60, failures=True)
    period = november(lost, policy=Policy(lost=rule))
    run_ = reconcile.run(period=period, now=AFTER)

    # Half an hour of 8, a quarter of 8, twenty minutes of 8: 8.67 hours at 3.00.
    assert owed(period) == {"nlp": "25.00", "cv": "21.00", "*lost": "26.00", "*unsold": "24.00"}
    assert run_.billed == Decimal("96.00")


@pytest.mark.django_db
def test_an_eviction_that_is_noted_later_makes_the_month_due_again(lost):
    period = november(lost, policy=Policy(lost=TAKER))
    first = reconcile.run(period=period, now=AFTER)
    assert reconcile.run(period=period, now=AFTER) == first
    more = run(lost.cluster, "more", "nlp-train", 1, clock("23:55"), clock("23:56"))
    evict(more, "nlp-train", clock("23:56"), "preempted_reclaim", 1, "uid-boss")

    assert reconcile.run(period=period, now=AFTER).result != first.result


@pytest.mark.django_db
def test_a_preview_shows_what_giving_back_would_have_meant(lost, monkeypatch):
    period = november(lost)
    with time_machine.travel(AFTER, tick=False):
        by_hour, wanted = [], Policy(lost=ALL)
        for most in (20_000, 1):
            monkeypatch.setattr(previews, "BY_HOUR", most)
            found = previews.of_policy(period.book, wanted, instant(AFTER))
            by_hour.append({row.payer: rounded(row.difference, "USD") for row in found.rows})

    # 8 x 60 and 8 x 15 and 8 x 20 minutes at 3.00.
    assert by_hour[0] == {"cv": 0, "nlp": Decimal("-38.00"), Bucket.LOST: 38, Bucket.UNSOLD: 0}
    assert by_hour[1] == by_hour[0]
    assert found.total == 96


@pytest.mark.django_db
def test_what_is_lost_is_not_read_where_nothing_is_given_back(lost, monkeypatch):
    period = november(lost)
    monkeypatch.setattr(losses, "by_hour", None)

    assert reconcile.run(period=period, now=AFTER).billed == Decimal("96.00")
    assert stored.at(30, 23) == HOURS.starts
