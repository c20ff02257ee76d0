"""Setting back what one change committed, and nothing else."""

from dataclasses import replace

import pytest

from kube.edits import PutQueue, SetQuota, SetStopPolicy, apply
from queues.services.undo import Overlap, undone
from tests import cast

BEFORE = cast.catalog()
GPU = "nvidia.com/gpu"


def nominal(catalog, name):
    queue = next(queue for _tenant, queue in catalog.queues() if queue.name == name)
    return next(line.nominal for line in queue.quotas if line.resource == GPU)


def given(catalog, queue, devices):
    return apply(catalog, [SetQuota(queue=queue, flavor="a100", resource=GPU, nominal=devices)])


def test_sets_back_what_the_change_set():
    after = given(BEFORE, "nlp-train", 24)
    assert undone(after, before=BEFORE, after=after) == BEFORE


def test_keeps_what_others_changed_since():
    after = given(BEFORE, "nlp-train", 24)
    head = apply(given(after, "cv-train", 4), [SetStopPolicy(queue="nlp-train", policy="Hold")])
    result = undone(head, before=BEFORE, after=after)
    assert (nominal(result, "nlp-train"), nominal(result, "cv-train")) == (16, 4)
    queue = next(queue for _tenant, queue in result.queues() if queue.name == "nlp-train")
    assert queue.stop_policy == "Hold"


def test_refuses_when_the_same_value_was_changed_again():
    after = given(BEFORE, "nlp-train", 24)
    with pytest.raises(Overlap, match="nominal"):
        undone(given(after, "nlp-train", 20), before=BEFORE, after=after)


def test_is_content_when_somebody_set_it_back_already():
    after = given(BEFORE, "nlp-train", 24)
    assert undone(BEFORE, before=BEFORE, after=after) == BEFORE


def test_what_was_added_stays_because_nothing_is_removed_by_an_undo():
    new = replace(cast.queue("nlp-dev", "nlp-dev", 1))
    after = apply(BEFORE, [PutQueue(tenant="nlp", queue=new)])
    assert undone(after, before=BEFORE, after=after) == after


def test_a_quota_line_that_was_added_goes_and_one_that_was_dropped_comes_back():
    queue = next(queue for _tenant, queue in BEFORE.queues() if queue.name == "nlp-train")
    fewer = apply(BEFORE, [PutQueue(tenant="nlp", queue=replace(queue, quotas=queue.quotas[1:]))])
    back = undone(fewer, before=BEFORE, after=fewer)
    lines = {line.resource for _t, q in back.queues() if q.name == "nlp-train" for line in q.quotas}
    assert lines == {"cpu", "memory", GPU}
    assert undone(BEFORE, before=fewer, after=BEFORE) == fewer


def test_a_line_that_was_added_and_changed_again_is_an_overlap():
    queue = next(queue for _tenant, queue in BEFORE.queues() if queue.name == "nlp-train")
    fewer = apply(BEFORE, [PutQueue(tenant="nlp", queue=replace(queue, quotas=queue.quotas[:-1]))])
    with pytest.raises(Overlap):
        undone(given(BEFORE, "nlp-train", 20), before=fewer, after=BEFORE)
