"""The live process on a real Redis and a real database: who hears what, and until when."""

import signal
import socket

import pytest
from django.conf import settings

from portal.live.app import PER_PERSON
from queues.services import announce
from tenants.models import Membership, Session
from tenants.services import people
from tests import cast
from tests.portal import live as running
from tests.stack import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("live")]


@pytest.fixture(scope="module")
def server(django_db_setup, django_db_blocker, tmp_path_factory):
    with django_db_blocker.unblock(), running.process(tmp_path_factory.mktemp("live")) as made:
        yield made


@pytest.fixture
def live(server, transactional_db):
    redis = running.forget()
    found = running.Live(*server, cast.make())
    with found.opened:
        yield found
    redis.close()


# --- who may ------------------------------------------------------------------------------------


def test_a_member_hears_of_their_tenant_and_of_nothing_else(live):
    stream = live.listen(live.lab.bob, "tenant:nlp,queue:lab/nlp-train", "&age=0")
    assert stream.status == 200
    assert stream.answer["content-type"].startswith("text/event-stream")
    assert stream.answer["cache-control"] == "no-store"
    stream.event()

    announce.say(["tenant:cv"])
    announce.say(["queue:lab/nlp-train"])

    assert set(stream.news()) == {"queue:lab/nlp-train"}


def test_who_is_not_signed_in_hears_nothing(live):
    assert live.ask("/live?topics=tenant:nlp").status == 401
    assert live.listen("a" * 32, "tenant:nlp").status == 401
    assert live.listen("'; --", "tenant:nlp").status == 401


def test_an_expired_session_is_none(live):
    key = live.cookie(live.lab.bob)
    Session.objects.update(expire_date="2020-01-01T00:00:00Z")

    assert live.listen(key, "tenant:nlp").status == 401


def test_a_topic_of_others_is_answered_as_one_that_does_not_exist(live):
    def told(topics):
        found = live.listen(live.lab.bob, topics)
        return found.status, found.body(), found.answer

    foreign, unknown = told("tenant:cv"), told("tenant:none")
    assert foreign == unknown
    assert foreign[0] == 404
    assert told("tenant:nlp,queue:lab/cv-train")[0] == 404
    assert told("requests")[0] == 404
    assert told("nonsense")[0] == 404


def test_somebody_without_a_role_hears_nothing(live):
    assert live.listen(live.lab.heidi, "cluster:lab").status == 404


def test_the_platform_hears_of_everything(live):
    stream = live.listen(live.lab.carol, "requests,jobs,tenant:cv,cluster:lab,alive:lab", "&age=0")
    stream.event()

    announce.say(["requests"])

    assert set(stream.news()) == {"requests"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://127.0.0.1:{port}", "Sec_Fetch_Site": "same-origin"}, 200),
        ({"Sec_Fetch_Site": "same-origin"}, 200),
        ({"Origin": "http://evil.example.com", "Sec_Fetch_Site": "cross-site"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "none"}, 403),
        ({"Host": "evil.example.com"}, 400),
    ],
)
def test_only_the_portals_own_pages_may_ask(live, headers, status):
    sent = {name: value.format(port=live.port) for name, value in headers.items()}

    stream = live.listen(live.lab.bob, "tenant:nlp", **sent)

    assert stream.status == status
    assert "access-control-allow-origin" not in stream.answer


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 400),
        ("?topics=", 400),
        ("?topics=" + ",".join(f"tenant:t{n}" for n in range(65)), 400),
        ("?topics=" + "x" * 9000, 414),
        ("?topics=tenant:nlp&since=-1&age=x", 200),
        ("?topics=tenant:nlp&since=99999999999999999999", 200),
    ],
)
def test_a_question_has_a_form(live, query, status):
    cookie = f"{settings.SESSION_COOKIE_NAME}={live.cookie(live.lab.bob)}"

    assert live.ask(f"/live{query}", Cookie=cookie).status == status


def test_nothing_else_is_served(live):
    assert live.ask("/").status == 404
    assert live.ask("/live?topics=tenant:nlp", method="POST").status == 405
    assert live.ask("/healthz").body() == b'{"status":"ok"}'


# --- until when ---------------------------------------------------------------------------------


def test_who_signs_out_is_cut_off(live, client):
    client.force_login(live.lab.bob)
    stream = live.listen(client.cookies[settings.SESSION_COOKIE_NAME].value, "tenant:nlp")
    other = live.listen(live.lab.alice, "tenant:nlp", "&age=0")
    other.event()

    client.post("/logout/")

    stream.end()
    assert stream.last == "barred"
    announce.say(["tenant:nlp"])
    assert set(other.news()) == {"tenant:nlp"}


def test_a_session_that_is_deleted_without_a_word_ends_its_stream(live):
    stream = live.listen(live.lab.bob, "tenant:nlp")

    Session.objects.all().delete()

    stream.end()


def test_a_person_who_is_closed_out_is_cut_off(live):
    stream = live.listen(live.lab.bob, "tenant:nlp")

    people.deactivate(actor=live.lab.dave, user=live.lab.bob)

    stream.end()


def test_a_role_that_is_taken_ends_what_it_allowed_and_nothing_else(live):
    lost = live.listen(live.lab.bob, "tenant:nlp")
    kept = live.listen(live.lab.frank, "tenant:nlp", "&age=0")
    kept.event()

    Membership.objects.filter(user=live.lab.bob).delete()

    lost.end()
    announce.say(["tenant:nlp"])
    assert set(kept.news()) == {"tenant:nlp"}


def test_a_changed_password_ends_the_sessions_that_held_the_old_one(live):
    stream = live.listen(live.lab.bob, "tenant:nlp")

    people.change_password(
        actor=live.lab.bob, old=cast.PASSWORD, new="another-horse-battery", address="127.0.0.1"
    )

    stream.end()


# --- nothing missed, nothing kept -----------------------------------------------------------------


def test_what_moved_while_the_page_was_on_its_way_is_told(live):
    announce.say(["queue:lab/nlp-train"])

    stream = live.listen(live.lab.bob, "tenant:nlp,queue:lab/nlp-train", "&age=60000")

    assert "queue:lab/nlp-train" in stream.news()


def test_a_page_of_unknown_age_is_told_everything_that_is_remembered(live):
    announce.say(["tenant:nlp"])

    assert set(live.listen(live.lab.bob, "tenant:nlp").news()) == {"tenant:nlp"}


def test_who_comes_back_is_told_what_was_missed_and_not_more(live):
    key = live.cookie(live.lab.bob)
    topics = "tenant:nlp,queue:lab/nlp-train"
    first = live.listen(key, topics, "&age=0")
    first.event()
    announce.say(["tenant:nlp"])
    while "tenant:nlp" not in first.event().told:
        pass
    last = first.event_id
    first.close()
    announce.say(["queue:lab/nlp-train"])

    again = live.listen(key, topics, Last_Event_ID=str(last))
    assert set(again.news()) == {"queue:lab/nlp-train"}
    by_query = live.listen(key, topics, f"&since={last}")
    assert set(by_query.news()) == {"queue:lab/nlp-train"}
    nothing = live.listen(key, topics, f"&since={again.event_id}")
    assert nothing.event().name == "beat"


def test_a_generation_that_redis_cannot_have_given_means_look_at_everything(live):
    announce.say(["tenant:nlp"])
    stream = live.listen(live.lab.bob, "tenant:nlp", f"&since={9 * 10**15}")

    assert set(stream.news()) == {"tenant:nlp"}


@pytest.mark.fault
def test_a_cut_line_to_redis_that_has_forgotten_everything_hides_nothing(live):
    stream = live.listen(live.lab.bob, "tenant:nlp,queue:lab/nlp-train", "&age=0")
    stream.event()
    with running.forget() as client, client.pipeline() as at_once:
        lines = client.client_list(_type="pubsub")
        at_once.delete(announce.GENERATION, announce.TOPICS, announce.FLOOR)
        for line in lines:
            if line["db"] == settings.REDIS_URL.rsplit("/", 1)[1]:
                at_once.execute_command("CLIENT", "KILL", "ID", line["id"])
        channel = announce.channel(settings.REDIS_URL)
        keys = (announce.GENERATION, announce.TOPICS, announce.FLOOR)
        at_once.eval(announce.SCRIPT, len(keys), *keys, channel, announce.KEPT, "tenant:cv")
        at_once.execute()

    assert set(stream.news()) == {"tenant:nlp", "queue:lab/nlp-train"}
    wait_for(live.ready)


def test_a_person_has_a_bounded_number_of_streams(live):
    key = live.cookie(live.lab.bob)
    opened = [live.listen(key, "tenant:nlp") for _ in range(PER_PERSON)]

    refused = live.listen(key, "tenant:nlp")
    assert (refused.status, refused.body()) == (429, b"too many streams")
    assert live.listen(live.lab.alice, "tenant:nlp").status == 200
    opened[0].close()
    wait_for(lambda: live.listen(key, "tenant:nlp").status == 200)


def test_one_who_reads_nothing_holds_up_nobody_and_hears_the_newest(live):
    slow = live.listen(live.lab.bob, "tenant:nlp", "&age=0")
    quick = live.listen(live.lab.alice, "tenant:nlp", "&age=0")
    quick.event()
    for _ in range(300):
        announce.say(["tenant:nlp"])
    newest = int(announce._client(settings.REDIS_URL)[0].get(announce.GENERATION))

    for stream in (quick, slow):
        while stream.news()["tenant:nlp"] != newest:
            pass


def hangs_up(connection):
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_request_that_does_not_come_to_its_end_is_dropped(live):
    with socket.create_connection(("127.0.0.1", live.port), timeout=30) as endless:
        endless.sendall(b"GET /live HTTP/1.1\r\n" + b"X-Filler: x\r\n" * 2000)

        assert hangs_up(endless)


def test_streams_live_on_with_signs_of_life(live):
    stream = live.listen(live.lab.bob, "tenant:nlp", "&age=0")

    first, second = stream.waits_for("beat"), stream.event()

    assert second.id >= first.id
    assert second.told == {}


# --- the end --------------------------------------------------------------------------------------


def test_a_process_that_is_asked_to_end_ends_its_streams_in_good_order(live):
    stream = live.listen(live.lab.bob, "tenant:nlp")

    live.processes.running["live"].send_signal(signal.SIGTERM)

    stream.end()
    assert stream.whole
    assert live.processes.running["live"].wait(30) in (0, -signal.SIGTERM)
    running.start(live.processes, live.port)
