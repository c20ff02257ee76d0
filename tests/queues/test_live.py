"""One planned object against the live one: write, found, or stale."""

import copy

import pytest

from kube import keys
from kube.diff import owned, owned_digest
from kube.render import render
from queues.models import PlanObject
from queues.services.live import Verdict, judge, stamped, stamped_revision
from tests import cast

BODY = next(each.body for each in render(cast.catalog()) if each.kind == "ClusterQueue")


def live(devices="8", uid="uid-1", *, ours=False, revision="3"):
    found = copy.deepcopy(dict(BODY))
    for each in found["spec"]["resourceGroups"][0]["flavors"][0]["resources"]:
        if each["name"] == "nvidia.com/gpu":
            each["nominalQuota"] = devices
    manager = keys.FIELD_MANAGER_QUOTA if ours else "kubectl-edit"
    found["metadata"] |= {
        "uid": uid,
        "resourceVersion": "41",
        "managedFields": [{"manager": manager, "operation": "Apply"}],
        "annotations": {**found["metadata"]["annotations"], keys.REVISION: revision},
    }
    return found


def planned(base=None):
    facts = {}
    if base is not None:
        facts = {
            "base_uid": base["metadata"]["uid"],
            "base_digest": owned_digest(base, BODY),
            "base": owned(base, BODY),
        }
    return PlanObject(kind="ClusterQueue", name=BODY["metadata"]["name"], wanted=BODY, **facts)


BASE = live("4")


@pytest.mark.parametrize(
    ("plan", "found", "verdict", "words"),
    [
        (planned(), None, Verdict.WRITE, ""),
        (planned(BASE), None, Verdict.STALE, "deleted"),
        (planned(BASE), live("4"), Verdict.WRITE, ""),
        (planned(BASE), live("8", ours=True), Verdict.FOUND, ""),
        (planned(BASE), live("8"), Verdict.WRITE, ""),
        (planned(), live("8"), Verdict.WRITE, ""),
        (planned(), live("8", ours=True), Verdict.FOUND, ""),
        (planned(), live("4"), Verdict.STALE, "somebody made it"),
        (planned(BASE), live("5"), Verdict.STALE, "changed since"),
        (planned(BASE), live("4", uid="uid-2"), Verdict.STALE, "made anew"),
        (planned(BASE), live("4", revision="9"), Verdict.STALE, "revision 9"),
    ],
)
def test_the_verdict(plan, found, verdict, words):
    judgement = judge(plan, found, 5)
    assert judgement.verdict == verdict
    assert words in judgement.reason
    assert judgement.uid == (found["metadata"]["uid"] if found else None)


def test_stamps_say_who_wrote_and_change_nothing_else():
    sent = stamped(BODY, revision=7, plan="abc", version="41")
    assert stamped_revision(sent) == 7
    assert sent["metadata"]["annotations"][keys.PLAN] == "abc"
    assert sent["metadata"]["resourceVersion"] == "41"
    assert sent["spec"] == BODY["spec"]
    assert keys.PLAN not in BODY["metadata"]["annotations"]
    assert stamped_revision({"metadata": {"annotations": {keys.REVISION: "x"}}}) == 0
