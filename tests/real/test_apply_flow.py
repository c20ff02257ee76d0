"""Plan, approve, apply and read back on a real API server, and what other writers do to that."""

from dataclasses import replace

import pytest
from django.db import connection

from kube.edits import PutQueue, Replace, SetQuota, dump_edits
from kube.manifest import Ref
from queues.models import Apply
from queues.services import conflicts
from tenants import audit
from tenants.models import Cluster, Request
from tenants.services import proposals
from tenants.services.catalog import head
from tests.real import registered, site
from tests.real.conftest import eventually
from tests.real.faultproxy import Action, drop_answer, fail, webhook_down

pytestmark = [pytest.mark.fault, pytest.mark.xdist_group("apply")]
MANAGER = "gpuportal-quota"
GPU_LINE = "resources[nvidia.com/gpu]"


@pytest.fixture
def lab(transactional_db, settings, admin, place, proxy, name):
    registered.seal_with_fresh_keys(settings)
    author, approver = registered.person("ann", "admin"), registered.person("ben", "admin")
    cluster = site.register(admin, proxy, author, "site")
    return site.Site(name, admin, proxy, cluster, author, approver, place)


def results(apply):
    rows = apply.results.select_related("object").order_by("object__position")
    return {f"{row.object.kind}/{row.object.name}": row.state for row in rows}


def owner_of_groups(body):
    return [
        each["manager"]
        for each in body["metadata"]["managedFields"]
        if "f:resourceGroups" in each["fieldsV1"].get("f:spec", {})
    ]


def test_a_request_reaches_the_cluster_and_is_read_back(lab):
    lab.start()
    request = lab.ask(1, 6)
    plan = lab.plan(request)
    assert (plan.state, request.plans.count()) == ("ready", 1), plan.problems
    row = plan.planned.get()
    assert (row.operation, row.tried) == ("update", "accepted")
    assert {"nominalQuota"} == {change["path"].rpartition(".")[2] for change in row.changes}
    apply = lab.run(lab.approve(request))
    assert apply.state == "succeeded", apply.error
    request.refresh_from_db()
    assert (request.state, lab.nominal(1)) == ("applied", "6")
    live = lab.queue(1)
    assert owner_of_groups(live) == [MANAGER]
    assert live["metadata"]["annotations"]["gpuportal.io/revision"] == "2"
    assert live["metadata"]["annotations"]["gpuportal.io/plan"] == plan.digest
    result = apply.results.get()
    assert result.uid == live["metadata"]["uid"]
    assert result.version_before != result.resource_version
    assert (result.manager, result.fence) == (MANAGER, 1)
    assert list(lab.written().values()) == [1]
    assert audit.verify("platform").intact


def test_what_cannot_be_tried_before_its_namespace_exists_is_tried_between_the_waves(lab):
    request = lab.propose(Replace(catalog=site.catalog(lab.prefix)))
    plan = lab.plan(request)
    late = plan.planned.filter(tried="not_yet")
    assert {row.kind for row in late} == {"LocalQueue"}
    assert plan.planned.exclude(kind="LocalQueue").filter(tried="accepted").exists()
    lab.proxy.log.clear()
    apply = lab.run(lab.approve(request))
    assert apply.state == "succeeded", apply.error
    calls = [e for e in lab.proxy.log if e.verb == "PATCH" and "localqueues" in e.path]
    assert [each.dry_run for each in calls] == [True, True, False, False]
    first = next(i for i, e in enumerate(lab.proxy.log) if e.verb == "PATCH" and not e.dry_run)
    assert lab.proxy.log[first].path.startswith("/api/v1/namespaces")


def test_an_edit_between_plan_and_apply_is_stale_and_nothing_is_written(lab):
    lab.start()
    request = lab.ask(1, 6)
    lab.plan(request)
    apply = lab.approve(request)
    lab.edit(1, "7")
    lab.proxy.log.clear()
    assert lab.run(apply).state == "stale"
    assert (lab.nominal(1), lab.written()) == ("7", {})
    result = apply.results.get()
    change = next(each for each in result.found if GPU_LINE in each["path"])
    assert (change["before"], change["after"]) == ("7", "6")
    assert "changed since the plan" in apply.error
    request.refresh_from_db()
    assert request.state == "stale"
    # The way on: a new plan shows the conflict, and who owns the field.
    conflicts.plan_again(actor=lab.author, request=request)
    again = lab.plan(request)
    assert again.planned.get().tried == "conflict"


def test_the_same_edit_before_planning_is_a_conflict_with_manager_and_values(lab):
    lab.start()
    lab.edit(1, "7")
    request = lab.ask(1, 6)
    plan = lab.plan(request)
    row = plan.planned.get()
    assert (plan.state, row.tried) == ("ready", "conflict")
    [conflict] = row.conflicts
    assert (conflict["manager"], conflict["field"]) == ("kubectl-edit", "spec.resourceGroups")
    value = next(each for each in conflict["values"] if GPU_LINE in each["path"])
    assert (value["theirs"], value["ours"]) == ("7", "6")
    # Taking it back is a decision of its own.
    apply = lab.run(lab.approve(request, take_back=True, reason="Agreed on the phone"))
    assert (apply.state, lab.nominal(1)) == ("succeeded", "6"), apply.error
    assert owner_of_groups(lab.queue(1)) == [MANAGER]


def test_keeping_theirs_makes_the_catalog_follow(lab):
    lab.start()
    lab.edit(1, "7")
    request = lab.ask(1, 6)
    plan = lab.plan(request)
    revision = conflicts.keep_theirs(actor=lab.approver, plan=plan, reason="They need it")
    request.refresh_from_db()
    assert (request.state, revision.number) == ("abandoned", 2)
    queue = next(q for _t, q in head(lab.cluster).queues() if q.name.endswith("t1-q"))
    assert [line.nominal for line in queue.quotas if "gpu" in line.resource] == [7]
    assert lab.nominal(1) == "7"


def test_abandoning_a_stale_change_takes_it_out_of_the_catalog(lab):
    lab.start()
    request = lab.ask(1, 6)
    lab.plan(request)
    apply = lab.approve(request)
    lab.edit(1, "7")
    lab.run(apply)
    conflicts.abandon(actor=lab.author, request=request, reason="No longer needed")
    queue = next(q for _t, q in head(lab.cluster).queues() if q.name.endswith("t1-q"))
    assert [line.nominal for line in queue.quotas if "gpu" in line.resource] == [4]


def test_an_unchanged_catalog_of_fifty_tenants_sends_no_write(lab):
    first = lab.start(tenants=50)
    # Plan everything of the first request again: all of it is in the cluster already.
    lab.proxy.log.clear()
    whole = dump_edits([Replace(catalog=head(lab.cluster))])
    Request.objects.filter(pk=first.pk).update(state="submitted", edits=whole)
    first.refresh_from_db()
    plan = lab.plan(first)
    assert plan.state == "ready", plan.problems
    assert set(plan.planned.values_list("operation", flat=True)) == {"same"}
    assert plan.planned.count() == 3 + 50 * 3
    lab.proxy.log.clear()
    apply = lab.run(lab.approve(first))
    assert apply.state == "succeeded", apply.error
    assert lab.proxy.writes() == []
    assert set(results(apply).values()) == {"found"}


def test_a_lost_answer_is_read_back_and_not_repeated(lab):
    lab.start()
    request = lab.ask(1, 6)
    lab.plan(request)
    apply = lab.approve(request)
    lab.proxy.log.clear()
    lab.proxy.rules.add(verb="PATCH", dry_run=False, action=drop_answer())
    assert lab.run(apply).state == "succeeded", apply.error
    assert list(lab.written().values()) == [1]
    assert apply.results.get().message.startswith("the answer was lost")


def test_a_dead_webhook_leaves_everything_as_it_was_and_is_tried_again(lab):
    lab.start()
    request = lab.ask(1, 6)
    lab.plan(request)
    apply = lab.approve(request)
    lab.proxy.log.clear()
    lab.proxy.rules.add(verb="PATCH", action=webhook_down(), times=None)
    assert lab.run(apply).state == "queued"
    assert "Kueue's webhook is not answering" in apply.error
    assert (apply.held_since is not None, apply.next_try_at is not None) == (True, True)
    assert lab.proxy.writes() == []
    request.refresh_from_db()
    assert request.state == "approved"
    lab.proxy.rules.clear()
    type(apply).objects.update(next_try_at=None)
    assert lab.run(apply).state == "succeeded"
    assert (apply.error, apply.held_since) == ("", None)


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (fail(401, "Unauthorized", "Unauthorized"), "GP-3116"),
        (fail(429, "slow down", "TooManyRequests", Retry_After="7"), "GP-3120"),
        (fail(503, "not now", "ServiceUnavailable"), "GP-3121"),
    ],
)
def test_trouble_of_the_cluster_is_waited_for(lab, action, code):
    lab.start()
    request = lab.ask(1, 6)
    lab.plan(request)
    apply = lab.approve(request)
    lab.proxy.log.clear()
    lab.proxy.rules.add(verb="GET", action=action, times=None)
    assert lab.run(apply).state == "queued"
    assert apply.error_code == code
    assert lab.proxy.writes() == []
    assert len(lab.proxy.log) == 1  # no hammering


def test_a_queue_that_was_deleted_by_hand_is_not_made_again(lab):
    lab.start()
    request = lab.ask(1, 6)
    lab.plan(request)
    apply = lab.approve(request)
    live = lab.queue(1)
    ref = Ref("ClusterQueue", "", live["metadata"]["name"])
    lab.admin.delete(ref, uid=live["metadata"]["uid"])
    eventually(lambda: lab.admin.get(ref) is None)
    assert lab.run(apply).state == "stale"
    assert lab.admin.get(ref) is None
    assert "deleted" in apply.results.get().message


def test_kueues_refusal_stands_at_the_field_and_the_request_is_kept(lab, monkeypatch):
    lab.start()
    name = f"{lab.prefix}-t1-q"
    request = lab.ask(1, 6)
    edits = [
        SetQuota(queue=name, flavor=f"{lab.prefix}-a100", resource=site.RESOURCE, nominal=6,
                 lending_limit=9)
    ]  # fmt: skip
    # Past our own rules, as a rule of a newer Kueue would be.
    Request.objects.filter(pk=request.pk).update(edits=dump_edits(edits))
    monkeypatch.setattr(proposals, "faults", lambda before, after: ((), ()))
    request.refresh_from_db()
    plan = lab.plan(request)
    request.refresh_from_db()
    assert (plan.state, request.state) == ("refused", "refused")
    [problem] = request.problems
    assert problem["field"] == (
        f"tenants[{lab.prefix}-t1].queues[{name}]"
        f".quotas[{lab.prefix}-a100/nvidia.com/gpu].lending_limit"
    )
    assert "must be less than or equal to the nominalQuota" in problem["message"]


def test_a_queue_left_behind_in_the_old_department_is_touched(lab):
    lab.start(tenants=3)
    queue = next(q for _t, q in head(lab.cluster).queues() if q.name == f"{lab.prefix}-t1-q")
    moved = replace(queue, cohort=f"{lab.prefix}-other")
    request = lab.propose(PutQueue(tenant=f"{lab.prefix}-t1", queue=moved))
    lab.plan(request)
    apply = lab.run(lab.approve(request))
    assert apply.state == "succeeded", apply.error
    [touched] = apply.touched
    assert touched["cohort"] == f"{lab.prefix}-dept"
    assert touched["problem"] == ""
    assert touched["queue"] in (f"{lab.prefix}-t2-q", f"{lab.prefix}-t3-q")
    assert lab.queue(1)["spec"]["cohortName"] == f"{lab.prefix}-other"


def test_an_object_that_is_being_deleted_is_waited_for(lab):
    lab.start()
    request = lab.ask(1, 6)
    lab.plan(request)
    apply = lab.approve(request)
    live = lab.queue(1)
    live["metadata"]["finalizers"].append("example.com/hold")
    path = f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{live['metadata']['name']}"
    lab.put(path, live, "holder")
    ref = Ref("ClusterQueue", "", live["metadata"]["name"])
    lab.admin.delete(ref, uid=live["metadata"]["uid"])
    lab.proxy.log.clear()
    assert lab.run(apply).state == "queued"
    assert (apply.error_code, lab.proxy.writes()) == ("GP-3112", [])
    held = lab.queue(1)
    held["metadata"]["finalizers"] = []
    lab.put(path, held, "holder")
    eventually(lambda: lab.admin.get(ref) is None)
    Apply.objects.filter(pk=apply.pk).update(next_try_at=None)
    assert lab.run(apply).state == "stale"


def test_one_object_that_is_refused_leaves_an_honest_partial_result(lab):
    lab.start()
    request = lab.propose(*site.edits_for(lab, 1, 6), *site.edits_for(lab, 2, 6))
    lab.plan(request)
    apply = lab.approve(request)
    lab.proxy.log.clear()
    denied = (
        'admission webhook "vclusterqueue.kb.io" denied the request: '
        'spec.stopPolicy: Invalid value: "x": not today'
    )
    lab.proxy.rules.add(verb="PATCH", dry_run=False, nth=2, action=fail(403, denied, "Forbidden"))
    assert lab.run(apply).state == "partial"
    assert list(results(apply).values()) == ["applied", "refused"]
    refused = apply.results.get(state="refused")
    assert refused.field_problems[0]["field"] == "spec.stopPolicy"
    request.refresh_from_db()
    assert request.state == "partial"
    conflicts.continue_partial(actor=lab.approver, apply=apply)
    assert lab.run(Apply.objects.get(pk=apply.pk)).state == "succeeded"
    assert sorted(lab.written().values()) == [1, 1]


def test_writing_switched_off_in_the_middle_stops_before_the_next_object(lab):
    lab.start()
    request = lab.propose(*site.edits_for(lab, 1, 6), *site.edits_for(lab, 2, 6))
    lab.plan(request)
    apply = lab.approve(request)
    lab.proxy.log.clear()

    def off(exchange):
        answer = exchange.whole()
        Cluster.objects.update(writing=False)
        connection.close()
        exchange.handler.reply(*answer)

    lab.proxy.rules.add(verb="PATCH", dry_run=False, action=Action("off", True, off))
    assert lab.run(apply).state == "queued"
    assert (apply.error_code, len(lab.proxy.writes())) == ("GP-4407", 1)
    Cluster.objects.update(writing=True)
    Apply.objects.filter(pk=apply.pk).update(next_try_at=None)
    assert lab.run(apply).state == "succeeded"


def test_what_the_cluster_changes_after_writing_is_named(lab):
    lab.start()
    request = lab.ask(1, 6)
    lab.plan(request)
    apply = lab.approve(request)

    def meddle(exchange):
        answer = exchange.whole()
        lab.edit(1, "5")
        exchange.handler.reply(*answer)

    lab.proxy.rules.add(verb="PATCH", dry_run=False, action=Action("meddle", True, meddle))
    assert lab.run(apply).state == "partial"
    result = apply.results.get()
    assert (result.state, result.code) == ("changed", "GP-4406")
    assert "sent 6, found 5" in result.message


def right_before_the_write(lab, act):
    """Do something between the comparison of an object and its write."""

    def run(exchange):
        act()
        exchange.handler.reply(*exchange.whole())

    lab.proxy.rules.add(verb="PATCH", dry_run=False, action=Action("act", True, run))


def test_a_version_that_moved_without_a_change_of_ours_is_written_again(lab):
    lab.start()
    request = lab.ask(1, 6)
    lab.plan(request)
    apply = lab.approve(request)
    note = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {
            "name": lab.queue(1)["metadata"]["name"],
            "annotations": {"example.com/note": "moved"},
        },
    }
    right_before_the_write(lab, lambda: lab.admin.apply(note, manager="note"))
    assert lab.run(apply).state == "succeeded", apply.error
    assert [entry.status for entry in lab.proxy.writes()] == [409, 200]


def test_an_edit_in_the_last_moment_is_not_written_over(lab):
    lab.start()
    request = lab.ask(1, 6)
    lab.plan(request)
    apply = lab.approve(request)
    right_before_the_write(lab, lambda: lab.edit(1, "7"))
    assert lab.run(apply).state == "conflict"
    assert lab.nominal(1) == "7"
    [conflict] = apply.results.get().conflicts
    value = next(each for each in conflict["values"] if GPU_LINE in each["path"])
    assert (conflict["manager"], value["theirs"], value["ours"]) == ("kubectl-edit", "7", "6")


def test_fields_that_changed_hands_between_plan_and_apply_are_a_conflict(lab):
    lab.start()
    request = lab.ask(1, 6)
    lab.plan(request)
    apply = lab.approve(request)
    lab.edit(1, "7")
    lab.edit(1, "4")  # The same value again, but the field is somebody else's now.
    lab.proxy.log.clear()
    assert lab.run(apply).state == "conflict"
    assert lab.proxy.writes() == []
    [conflict] = apply.results.get().conflicts
    assert conflict["manager"] == "kubectl-edit"
    request.refresh_from_db()
    assert request.state == "conflict"
    revision = conflicts.keep_theirs(
        actor=lab.approver, plan=request.plans.get(), reason="It is theirs"
    )
    assert revision.number == 3
    assert lab.nominal(1) == "4"


def test_the_object_that_another_hand_has_made_the_same_is_owned_too(lab):
    lab.start()
    request = lab.ask(1, 6)
    lab.plan(request)
    apply = lab.approve(request)
    body = lab.queue(1)
    ref = Ref("ClusterQueue", "", body["metadata"]["name"])
    lab.admin.delete(ref, uid=body["metadata"]["uid"])
    eventually(lambda: lab.admin.get(ref) is None)
    wanted = apply.plan.planned.get().wanted
    lab.admin.apply(wanted, manager="somebody")
    assert lab.run(apply).state == "stale"
    assert "made anew" in apply.results.get().message
