"""From what the observer writes to the stored facts of an hour, and the same facts again."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction

from costs.models import Period, PoolHour, Run, TenantHour
from costs.services import hourly
from costs.times import HOUR, Span, instant
from queues.services import observed_rows as rows
from tenants.models import Revision
from tests.costs.ledger_rows import ITEMS, book_of, closed
from tests.costs.watched import HOUR as BEGIN
from tests.costs.watched import Watched, after

pytestmark = pytest.mark.django_db
FIRST = Span(instant(BEGIN), instant(BEGIN) + HOUR)
THREE = Span(FIRST.starts, FIRST.starts + 3 * HOUR)


@pytest.fixture
def watched(lab, monkeypatch):
    return Watched(lab.cluster, monkeypatch)


def story(watched, until=185):
    """Two queues and a department with quota of its own; a job that lasts for two hours.

    nlp-train is promised 16, and 24 from minute 20 on; its job holds 32 from minute 10 to 130.
    """
    watched.begin(
        after(-30),
        ClusterQueue=[watched.queue("nlp-train", 16), watched.queue("cv-train", 8, lending=2)],
        Cohort=[watched.cohort("research", 4)], ResourceFlavor=[watched.flavor()],
        Node=[watched.node(f"n{n}") for n in range(4)],
    )  # fmt: skip
    flips = [("QuotaReserved", "True", after(10)), ("Admitted", "True", after(10))]
    done = [*flips, ("Finished", "True", after(130))]
    for minute, kind, item in (
        (10, "Workload", watched.job("a", "nlp-train", 32, *flips)),
        (20, "ClusterQueue", watched.queue("nlp-train", 24)),
        (30, "Node", watched.node("n0", ready=False)),
        (130, "Workload", watched.job("a", "nlp-train", 32, *done)),
    ):
        if minute <= until:
            watched.tell(after(minute), kind, item)
    watched.alive(after(until))


def stored(model=TenantHour):
    """Everything that rows say but which run they are of."""
    own = ("id", "run_id")
    found = model.objects.order_by("hour", *(["tenant__slug"] if model is TenantHour else []))
    return [{k: v for k, v in row.items() if k not in own} for row in found.values()]


def fact(tenant, hour=BEGIN):
    return TenantHour.objects.get(tenant__slug=tenant, hour=hour)


# --- what is counted ----------------------------------------------------------------------------


def test_an_hour_is_what_the_observer_has_noted(lab, watched):
    story(watched)
    run = hourly.count(cluster=lab.cluster, span=FIRST)

    nlp, cv = fact("nlp"), fact("cv")
    assert (nlp.committed, cv.committed) == (16 * 1200 + 24 * 2400, 8 * HOUR)
    assert (nlp.held, nlp.own) == (32 * 3000, 16 * 600 + 24 * 2400)
    # Of what it borrows the department has 4, and cv-train lends 2 at most.
    assert cv.lent == 2 * 3000
    assert nlp.overdraft == (16 - 4 - 2) * 600 + (8 - 4 - 2) * 2400
    assert (nlp.quality, nlp.coverage, cv.held) == ("observed", HOUR, 0)
    pool = PoolHour.objects.get()
    assert (pool.ready, pool.down, pool.cordoned) == (3 * 8 * HOUR + 8 * 1800, 8 * 1800, 0)
    assert (pool.nominal, pool.borrowed) == (4 * HOUR, 4 * 3000)
    assert pool.overdraft == nlp.overdraft
    assert (run.starts, run.ends, TenantHour.objects.count()) == (BEGIN, after(60), 2)


def test_the_same_hour_counted_again_says_the_same(lab, watched):
    """Also when what was open then is over by now, and when everything has changed since."""
    story(watched, until=75)
    first = hourly.count(cluster=lab.cluster, span=FIRST)
    before = stored(), stored(PoolHour)

    done = [("QuotaReserved", "True", after(10)), ("Admitted", "True", after(10)),
            ("Finished", "True", after(130))]  # fmt: skip
    watched.tell(after(130), "Workload", watched.job("a", "nlp-train", 32, *done))
    watched.tell(after(140), "ClusterQueue", watched.queue("nlp-train", 1, cohort="other"))
    watched.tell(after(150), "Cohort", watched.cohort("research", 4), change="DELETED")
    watched.tell(after(150), "Node", watched.node("n1"), change="DELETED")
    watched.alive(after(300))
    again = hourly.count(cluster=lab.cluster, span=FIRST)

    assert first.result == again.result
    assert (stored(), stored(PoolHour)) == before
    assert set(TenantHour.objects.values_list("run", flat=True)) == {again.pk}
    assert Run.objects.count() == 2


def test_hours_are_the_same_together_and_one_by_one(lab, watched):
    story(watched)
    hourly.count(cluster=lab.cluster, span=THREE)
    before = stored(), stored(PoolHour)
    for n in range(3):
        part = Span(FIRST.starts + n * HOUR, FIRST.ends + n * HOUR)
        hourly.count(cluster=lab.cluster, span=part)
    assert (stored(), stored(PoolHour)) == before
    assert sum(row["held"] for row in before[0]) == 32 * 7200


def test_a_queue_counts_for_whom_it_belonged_to_then(lab, watched):
    story(watched)
    head = Revision.objects.get()
    moved = {**head.catalog, "tenants": [dict(each) for each in head.catalog["tenants"]]}
    moved["tenants"][1]["queues"] += moved["tenants"][0].pop("queues")
    second = Revision.objects.create(cluster=lab.cluster, number=2, catalog=moved, digest="d",
                                     summary="s")  # fmt: skip
    assert second.committed_at == after(185)
    hourly.count(cluster=lab.cluster, span=FIRST)
    assert fact("nlp").held == 32 * 3000


def test_a_queue_moves_from_the_moment_of_its_revision_on(lab, watched):
    story(watched, until=5)
    head = Revision.objects.get()
    tenants = {each["slug"]: each["queues"] for each in head.catalog["tenants"]}
    body = {"tenants": [{"slug": "cv", "queues": [*tenants["cv"], *tenants["nlp"]]}]}
    watched.alive(after(15))
    Revision.objects.create(cluster=lab.cluster, number=2, catalog=body, digest="d", summary="s")
    watched.alive(after(185))
    hourly.count(cluster=lab.cluster, span=FIRST)
    assert fact("nlp").committed == 16 * 900
    assert fact("cv").committed == 8 * HOUR + 16 * 2700


def test_a_queue_that_goes_has_its_quota_until_then(lab, watched):
    story(watched, until=15)
    watched.tell(after(45), "ClusterQueue", watched.queue("cv-train", 8), change="DELETED")
    watched.alive(after(185))
    hourly.count(cluster=lab.cluster, span=THREE)
    assert list(TenantHour.objects.filter(tenant__slug="cv").values_list("committed", flat=True)) \
        == [8 * 2700]  # fmt: skip


# --- what nobody has seen is not nothing ----------------------------------------------------------


def test_time_before_the_first_look_is_missing(lab, watched):
    watched.begin(after(90), ClusterQueue=[watched.queue("nlp-train", 16)])
    watched.alive(after(185))
    hourly.count(cluster=lab.cluster, span=THREE)
    found = TenantHour.objects.order_by("hour").values_list("hour", "coverage", "quality")
    assert list(found) == [(after(60), 1799, "partial"), (after(120), HOUR, "observed")]


def test_time_after_the_last_sign_of_life_is_missing(lab, watched):
    story(watched, until=100)
    watched.now = after(185)
    hourly.count(cluster=lab.cluster, span=THREE)
    found = TenantHour.objects.filter(tenant__slug="cv").order_by("hour")
    assert list(found.values_list("coverage", "quality")) == [
        (HOUR, "observed"), (2400, "partial"), (0, "missing"),
    ]  # fmt: skip


def test_a_cluster_without_kueue_is_not_observed(lab, watched):
    """Its line and what it has said last are gone, and what was open then is not held for ever."""
    story(watched, until=100)
    rows.unserved(lab.cluster, "Workload")
    watched.alive(after(185))
    hourly.count(cluster=lab.cluster, span=THREE)
    assert set(TenantHour.objects.values_list("coverage", "quality")) == {(0, "missing")}


def test_a_cluster_that_nobody_watched_has_no_facts(lab):
    run = hourly.count(cluster=lab.cluster, span=FIRST)
    assert (Run.objects.get(), TenantHour.objects.count()) == (run, 0)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("span", "code"),
    [
        (Span(FIRST.starts + 1, FIRST.ends), "GP-5404"),
        (Span(FIRST.starts, FIRST.ends - 1), "GP-5404"),
        (Span(FIRST.starts, FIRST.starts), "GP-5404"),
        (Span(FIRST.ends, FIRST.starts), "GP-5404"),
        (Span(FIRST.starts - 6 * HOUR, FIRST.ends), "GP-5404"),
        (Span(FIRST.ends, FIRST.ends + HOUR), "GP-5401"),
        (Span(FIRST.starts, FIRST.ends + 9 * HOUR), "GP-5401"),
    ],
)
def test_only_whole_hours_that_are_over(lab, span, code):
    with pytest.raises(hourly.Refused) as error:
        hourly.count(cluster=lab.cluster, span=span, now=after(119, 59))
    assert error.value.code == code
    assert not Run.objects.exists()


def test_an_hour_can_be_counted_as_soon_as_it_is_over(lab):
    hourly.count(cluster=lab.cluster, span=FIRST, now=after(60))
    with pytest.raises(hourly.NotOver, match="before"):
        hourly.count(cluster=lab.cluster, span=FIRST, now=after(59, 59))


def test_hours_of_a_closed_period_are_refused(lab):
    october = closed(lab, book_of(lab), 10, *ITEMS)
    ends = instant(october.ends)
    for span in (Span(ends - HOUR, ends), Span(ends - HOUR, ends + HOUR)):
        with pytest.raises(hourly.ClosedHours) as error:
            hourly.count(cluster=lab.cluster, span=span)
        assert error.value.code == "GP-5402"
        assert error.value.details == {
            "starts": "2026-10-01T00:00Z", "ends": "2026-11-01T00:00Z",
        }  # fmt: skip
    hourly.count(cluster=lab.cluster, span=Span(ends, ends + HOUR))
    assert Period.objects.get().state == "closed"
    assert Run.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_one_count_of_a_cluster_at_a_time(committed_lab):
    def count():
        try:
            return hourly.count(cluster=committed_lab.cluster, span=FIRST)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            count_here = hourly.count(cluster=committed_lab.cluster, span=FIRST)
            with pytest.raises(hourly.Busy) as error:
                pool.submit(count).result(30)
        assert error.value.code == "GP-5403"
        assert pool.submit(count).result(30).result == count_here.result


# --- what it takes --------------------------------------------------------------------------------


def test_any_number_of_rows_takes_eleven_queries_without_pods(
    lab, watched, django_assert_num_queries
):
    story(watched, until=5)
    with django_assert_num_queries(11):
        few = hourly.records(lab.cluster.pk, THREE, watched.now)
    flips = [("QuotaReserved", "True", after(6)), ("Admitted", "True", after(6))]
    watched.tell(after(6), "Workload",
                 *(watched.job(f"j{n}", "nlp-train", 1, *flips) for n in range(30)))  # fmt: skip
    watched.tell(after(7), "ClusterQueue",
                 *(watched.queue(f"q{n}", n) for n in range(30)))  # fmt: skip
    watched.tell(after(8), "Node", *(watched.node(f"m{n}") for n in range(30)))
    with django_assert_num_queries(11):
        many = hourly.records(lab.cluster.pk, THREE, watched.now)
    assert len(many.holds) - len(few.holds) == 30
    assert len(many.grants) - len(few.grants) == 29 + 1
    assert len(many.nodes) - len(few.nodes) == 30


def test_a_count_takes_the_same_statements_for_any_number_of_rows(lab, watched):
    def statements():
        with Counting() as found:
            hourly.count(cluster=lab.cluster, span=THREE)
        return found.number

    story(watched)
    few = statements()
    watched.begin(after(186), Node=[watched.node(f"n{n}") for n in range(20)],
                  ResourceFlavor=[watched.flavor()],
                  ClusterQueue=[watched.queue(f"q{n}", n) for n in range(20)])  # fmt: skip
    assert (few, statements()) == (38, 38)


class Counting:
    """How many statements were sent within a block."""

    number = 0

    def __enter__(self):
        self._wrapper = connection.execute_wrapper(self._one)
        self._wrapper.__enter__()
        return self

    def __exit__(self, *args):
        self._wrapper.__exit__(*args)

    def _one(self, execute, *args):
        self.number += 1
        return execute(*args)


def test_a_long_span_is_cut_at_every_sixth_hour():
    midnight = instant(BEGIN.replace(hour=0)) - 86400 * 3
    assert hourly.parts(Span(midnight - HOUR, midnight + 13 * HOUR)) == [
        Span(midnight - HOUR, midnight), Span(midnight, midnight + 6 * HOUR),
        Span(midnight + 6 * HOUR, midnight + 12 * HOUR),
        Span(midnight + 12 * HOUR, midnight + 13 * HOUR),
    ]  # fmt: skip
    six = Span(midnight, midnight + 6 * HOUR)
    assert hourly.parts(six) == [six]
    with pytest.raises(hourly.NotOver):
        hourly.parts(Span(midnight, midnight + 24 * 30 * HOUR))


def test_an_hour_of_nobody_is_kept(lab, watched):
    """A queue that no catalog knows counts for nobody, and is not lost."""
    watched.begin(after(-30), ClusterQueue=[watched.queue("stray", 16, cohort="")])
    watched.alive(after(60) + timedelta(hours=1))
    hourly.count(cluster=lab.cluster, span=FIRST)
    row = TenantHour.objects.get()
    assert (row.tenant, row.committed) == (None, 16 * HOUR)
