"""Who may listen to which topic: as the pages, and an unknown one is as one of others."""

import uuid

import pytest

from queues import topics
from queues.selectors.listening import needs
from tenants import access
from tenants.models import Request
from tests import cast
from tests.queues import seen

OF_NLP = {"alice", "bob", "frank"}
OF_CV = {"grace"}
PLATFORM = {"carol", "dave", "erin"}
WITH_JOBS = {"alice", "bob"}
EVERYBODY = OF_NLP | OF_CV | PLATFORM


@pytest.fixture
def lab(db):
    return cast.make()


def listeners(lab, topic):
    """The people who may listen to a topic; nobody, when it is none."""
    need = needs([topic]).get(topic)
    people = {name: getattr(lab, name) for name in EVERYBODY | {"heidi"}}
    held = access.rights_of([each.pk for each in people.values()])
    return {name for name, each in people.items() if need and need.met(held[each.pk])}


def request(lab, tenant):
    return Request.objects.create(
        cluster=lab.cluster, tenant=tenant, kind=Request.Kind.CATALOG, author=lab.dave,
        reason="For this test", edits=[], key=f"listening-{uuid.uuid4().hex}",
    )  # fmt: skip


def test_a_tenant_and_its_queues_are_its_members_and_the_platforms(lab):
    assert listeners(lab, "tenant:nlp") == OF_NLP | PLATFORM
    assert listeners(lab, "queue:lab/cv-train") == OF_CV | PLATFORM


def test_a_cluster_is_everybodys_with_a_role(lab):
    assert listeners(lab, "cluster:lab") == EVERYBODY
    assert listeners(lab, "alive:lab") == EVERYBODY


def test_a_request_is_its_tenants_and_one_of_the_platform_only_theirs(lab):
    mine, ours = request(lab, lab.nlp), request(lab, None)

    assert listeners(lab, topics.request(mine.pk)) == OF_NLP | PLATFORM
    assert listeners(lab, topics.request(ours.pk)) == PLATFORM
    assert listeners(lab, topics.request(str(mine.pk).upper())) == set()


def test_what_concerns_all_tenants_is_the_platforms(lab):
    assert listeners(lab, topics.REQUESTS) == PLATFORM
    assert listeners(lab, topics.JOBS) == PLATFORM


def test_a_job_is_for_who_may_see_jobs_in_its_namespace(lab):
    own, stray = seen.workload(lab.cluster, "a"), seen.workload(lab.cluster, "b", namespace="x")

    assert listeners(lab, topics.job("lab", own.uid)) == WITH_JOBS | PLATFORM
    assert listeners(lab, topics.job("lab", stray.uid)) == PLATFORM


@pytest.mark.parametrize(
    "topic",
    ["tenant:none", "queue:lab/none", "queue:none/nlp-train", "job:lab/none", "cluster:none",
     "alive:none", "request:none", "request:3f0e7c52-5a7e-4c0e-9d7e-6f1a2b3c4d5e", "nonsense", ""],
)  # fmt: skip
def test_what_does_not_exist_is_nobodys(lab, topic):
    assert needs([topic]) == {}


def test_many_topics_cost_one_query_for_each_kind(lab, django_assert_num_queries):
    names = ["tenant:nlp", "tenant:cv", "queue:lab/nlp-train", "queue:lab/cv-train", "requests"]

    with django_assert_num_queries(2):
        assert set(needs(names)) == set(names)
