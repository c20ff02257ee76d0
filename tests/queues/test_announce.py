"""What is announced, in which order, and what happens when Redis is away or has forgotten."""

import time

import pytest
import redis
from django.conf import settings
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from queues import topics
from queues.services import announce
from queues.services.announcer import Announcer
from tenants.models import Request
from tenants.models.states import move
from tenants.services import people
from tests import cast


@pytest.fixture
def live():
    """A subscriber on a Redis that knows nothing; announcing is not paused."""
    client = redis.Redis.from_url(settings.REDIS_URL, decode_responses=True)
    client.delete(announce.GENERATION, announce.TOPICS, announce.FLOOR)
    announce._quiet_until = 0.0
    announce._moved.ids.clear()
    with client.pubsub(ignore_subscribe_messages=True) as listening:
        listening.subscribe(announce.channel(settings.REDIS_URL))
        listening.get_message(timeout=1)
        yield Ear(client, listening)
    client.close()


class Ear:
    def __init__(self, client, listening):
        self.client = client
        self.listening = listening

    def hear(self):
        """The words of the messages so far."""
        found = []
        while message := self.listening.get_message(timeout=0.3):
            found.append(message["data"].split(" "))
        return found

    def topics(self):
        return {topic for _generation, *said in self.hear() for topic in said}


NAME = st.text("abcxyz019-.", min_size=1, max_size=20)


@given(NAME, NAME)
def test_a_topic_is_read_as_it_was_named(cluster, name):
    assert topics.read(topics.queue(cluster, name)) == ("queue", name, cluster)
    assert topics.read(topics.job(cluster, name)) == ("job", name, cluster)
    assert topics.read(topics.tenant(name)) == ("tenant", name, "")


@given(st.text())
def test_any_other_text_is_no_topic(text):
    found = topics.read(text)

    assert found is None or text in (
        topics.REQUESTS, topics.JOBS, f"{found.kind}:{found.name}",
        f"{found.kind}:{found.cluster}/{found.name}",
    )  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "tenant:", "tenant:a b", "queue:lab", "job:a/b/c", "x:y", "tenant:é"]
)
def test_what_is_no_topic(text):
    assert topics.read(text) is None


def test_generations_rise_and_are_near_the_time(live):
    for _ in range(20):
        assert announce.say(["tenant:nlp"])

    generations = [int(words[0]) for words in live.hear()]
    assert generations == sorted(set(generations))
    assert len(generations) == 20
    assert abs(generations[-1] / 1_000_000 - time.time()) < 60


def test_one_message_names_each_topic_once(live):
    announce.say(["tenant:nlp", "requests", "tenant:nlp"])

    assert [words[1:] for words in live.hear()] == [["requests", "tenant:nlp"]]


def test_nothing_to_say_sends_nothing(live):
    assert announce.say([])

    assert live.hear() == []


def test_redis_keeps_the_newest_generation_of_each_topic(live):
    announce.say(["tenant:nlp", "tenant:cv"])
    announce.say(["tenant:nlp"])

    first, second = (float(words[0]) for words in live.hear())
    assert live.client.zscore(announce.TOPICS, "tenant:cv") == first
    assert live.client.zscore(announce.TOPICS, "tenant:nlp") == second
    assert float(live.client.get(announce.FLOOR)) == first


def test_a_redis_that_lost_everything_raises_the_floor(live):
    announce.say(["tenant:nlp"])
    before = int(live.hear()[0][0])
    live.client.flushdb()
    announce.say(["tenant:cv"])

    after = int(live.hear()[0][0])
    assert after > before
    assert int(live.client.get(announce.FLOOR)) == after


def test_old_topics_sink_below_the_floor(live, monkeypatch):
    monkeypatch.setattr(announce, "KEPT", 3)
    for number in range(5):
        announce.say([f"tenant:t{number}"])

    kept = live.client.zrange(announce.TOPICS, 0, -1, withscores=True)
    assert [name for name, _score in kept] == ["tenant:t2", "tenant:t3", "tenant:t4"]
    sunk = [int(words[0]) for words in live.hear()][1]
    assert int(live.client.get(announce.FLOOR)) == sunk


def test_a_redis_that_is_away_costs_one_try_and_no_error(live, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    assert not announce.say(["tenant:nlp"])
    started = time.monotonic()
    assert not any(announce.say(["tenant:nlp"]) for _ in range(1000))
    assert time.monotonic() - started < announce.PAUSE


@pytest.mark.django_db(transaction=True)
def test_a_request_is_announced_after_the_commit_alone(live):
    lab = cast.make()
    request = requests_of(lab)
    live.hear()

    with transaction.atomic():
        announce.moved(request)
        assert live.hear() == []

    assert live.topics() == {"requests", f"request:{request.pk}", "tenant:nlp"}


@pytest.mark.django_db(transaction=True)
def test_what_is_rolled_back_is_not_announced(live):
    request = requests_of(cast.make())
    live.hear()

    with transaction.atomic():
        announce.moved(request)
        transaction.set_rollback(True)

    assert live.hear() == []


def requests_of(lab):
    return Request.objects.create(
        cluster=lab.cluster, tenant=lab.nlp, kind=Request.Kind.QUOTA, author=lab.alice,
        reason="For this test", edits=[], key="announce-key-000001",
    )  # fmt: skip


@pytest.mark.django_db
def test_a_workload_moves_its_queue_and_the_tenant_of_its_namespace(live):
    said = Announcer(cast.make().cluster)

    assert said.window(workloads=[("uid-1", "nlp", "nlp-train")])

    assert live.topics() == {"job:lab/uid-1", "jobs", "queue:lab/nlp-train", "tenant:nlp"}


@pytest.mark.django_db
def test_a_workload_in_nobodys_namespace_is_no_tenants(live):
    said = Announcer(cast.make().cluster)

    said.window(workloads=[("uid-1", "elsewhere", "")])

    assert live.topics() == {"job:lab/uid-1", "jobs"}


@pytest.mark.django_db
def test_a_queue_moves_those_that_lend_to_it(live):
    said = Announcer(cast.make().cluster)

    said.window(objects=[("ClusterQueue", "", "nlp-train")])

    assert live.topics() == {
        "cluster:lab", "queue:lab/nlp-train", "queue:lab/cv-train", "tenant:nlp", "tenant:cv",
    }  # fmt: skip


@pytest.mark.django_db
def test_a_department_moves_all_below_it_and_a_node_only_the_cluster(live):
    said = Announcer(cast.make().cluster)

    said.window(objects=[("Node", "", "gpu-1")])
    assert live.topics() == {"cluster:lab"}
    said.window(objects=[("Cohort", "", "research")])
    assert {"queue:lab/nlp-train", "tenant:cv"} <= live.topics()
    said.window(objects=[("LocalQueue", "cv", "main")])
    assert live.topics() == {"cluster:lab", "tenant:cv"}


@pytest.mark.django_db
def test_what_could_not_be_said_is_said_later(live, settings):
    said = Announcer(cast.make().cluster)
    good, settings.REDIS_URL = settings.REDIS_URL, "redis://127.0.0.1:1/0"
    assert not said.window(workloads=[("uid-1", "nlp", "nlp-train")])
    settings.REDIS_URL = good
    announce._quiet_until = 0.0

    assert said.alive()

    assert live.topics() == {
        "alive:lab", "job:lab/uid-1", "jobs", "queue:lab/nlp-train", "tenant:nlp",
    }  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_a_transaction_with_several_moves_is_one_message(live):
    request = requests_of(cast.make())
    live.hear()

    with transaction.atomic():
        move(request, Request.State.PLANNED)
        move(request, Request.State.REJECTED)

    assert [sorted(words[1:]) for words in live.hear()] == [
        [f"request:{request.pk}", "requests", "tenant:nlp"]
    ]


@pytest.mark.django_db(transaction=True)
def test_who_signs_out_or_loses_a_role_is_looked_at_again(live, client):
    lab = cast.make()
    client.force_login(lab.bob)
    client.post("/logout/")
    people.remove_member(actor=lab.dave, tenant=lab.nlp, user=lab.frank, role="finance")
    people.take_role(actor=lab.dave, user=lab.erin, role="auditor")
    people.deactivate(actor=lab.dave, user=lab.grace)

    assert live.hear() == [
        ["person", str(each.pk)] for each in (lab.bob, lab.frank, lab.erin, lab.grace)
    ]


@pytest.mark.django_db
def test_an_observer_with_a_lost_line_gives_no_sign_of_life(live):
    said = Announcer(cast.make().cluster)

    said.alive(whole=False)
    said.window(line=True)

    assert live.topics() == {"cluster:lab"}
