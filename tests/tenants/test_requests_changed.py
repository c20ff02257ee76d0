"""Requests after they were sent: taken back, corrected, and who wins a race."""

import threading

import pytest
from django.db import connection

from portal.web.errors import Stale
from tenants import access
from tenants.models import AuditEvent, OpenTarget, Request
from tenants.models.states import move
from tenants.services import requests
from tests.tenants.asking import ask, wish

# --- taking back and correcting -------------------------------------------------------------------------------


def test_withdraws(people, woken):
    row = requests.withdraw(actor=people.alice, request=ask(people))

    assert row.state == "withdrawn"
    assert row.version == 2
    assert len(woken) == 2
    assert AuditEvent.objects.filter(action="request.withdraw", outcome="done").exists()


def test_withdraws_for_author_and_administrator_only(people):
    row = ask(people)

    for name in ("bob", "frank", "carol", "erin", "grace", "heidi"):
        with pytest.raises(access.Denied):
            requests.withdraw(actor=getattr(people, name), request=row)
    assert requests.withdraw(actor=people.dave, request=row).state == "withdrawn"


@pytest.mark.parametrize(
    "state", ["approved", "applying", "applied", "rejected", "withdrawn", "abandoned"]
)
def test_does_not_withdraw_what_is_decided(people, state):
    row = ask(people)
    Request.objects.filter(pk=row.pk).update(state=state)

    with pytest.raises(Stale, match="GP-1101"):
        requests.withdraw(actor=people.alice, request=row)
    assert AuditEvent.objects.filter(action="request.withdraw", outcome="refused").count() == 1


def refused_request(people):
    row = ask(people)
    return move(row, "refused", problems=[{"field": "", "code": "GP-3102", "message": "no"}])


def test_corrects_a_refused_request(people, woken):
    row = requests.resubmit(
        actor=people.alice, request=refused_request(people), edits=wish(people, 20), reason="Less.",
    )  # fmt: skip

    assert row.state == "submitted"
    assert row.edits[2]["nominal"] == 20
    assert (row.reason, row.problems) == ("Less.", [])
    assert row.open_targets.get().target == "queue:nlp-train/a100"


def test_correction_is_checked_too(people):
    row = refused_request(people)

    with pytest.raises(requests.Invalid):
        requests.resubmit(actor=people.alice, request=row, edits=wish(people, 99), reason="More.")
    row.refresh_from_db()
    assert row.state == "refused"
    assert row.open_targets.count() == 1


def test_does_not_correct_over_somebody_elses_correction(people):
    row = refused_request(people)

    with pytest.raises(Stale, match="GP-1119"):
        requests.resubmit(
            actor=people.alice, request=row, edits=wish(people, 20), reason="r", version=1
        )


def test_does_not_correct_what_is_not_refused(people):
    with pytest.raises(Stale):
        requests.resubmit(
            actor=people.alice, request=ask(people), edits=wish(people, 20), reason="r"
        )


# --- races ------------------------------------------------------------------------------------------------


def at_once(*tasks):
    """Run every task in a thread of its own, started at one moment; give what each gave."""
    start, results = threading.Barrier(len(tasks)), [None] * len(tasks)

    def run(index, task):
        start.wait()
        try:
            results[index] = task()
        except Exception as error:
            results[index] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=each) for each in enumerate(tasks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_one_of_two_requests_for_one_thing(people_for_threads):
    people = people_for_threads

    results = at_once(
        lambda: ask(people, key="first-key-1"),
        lambda: ask(people, people.dave, key="second-key-2"),
    )

    assert sorted(type(result).__name__ for result in results) == ["AlreadyOpen", "Request"]
    assert Request.objects.count() == OpenTarget.objects.count() == 1


def test_one_request_for_one_key(people_for_threads):
    people = people_for_threads

    results = at_once(*[lambda: ask(people)] * 4)

    assert len({result.pk for result in results}) == 1
    assert AuditEvent.objects.filter(action="request.submit", outcome="done").count() == 1


def test_one_of_withdrawing_and_deciding(people_for_threads):
    people = people_for_threads
    row = move(ask(people), "planned")

    results = at_once(
        lambda: requests.withdraw(actor=people.alice, request=row),
        lambda: move(Request.objects.get(pk=row.pk), "approved"),
    )

    assert sum(isinstance(result, Stale) for result in results) == 1
