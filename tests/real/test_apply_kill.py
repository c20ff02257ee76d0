"""Workers that die, stop or never hear of their work: everything is applied, once."""

import json
import os
import shutil
import signal
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from portal.embedded import Redis
from queues.models import Apply, Link
from queues.services.writer import SPACE
from queues.tasks import apply as apply_task
from tenants import audit
from tests.real import registered, site
from tests.stack import stack, wait_for

pytestmark = [pytest.mark.fault, pytest.mark.xdist_group("apply")]


@pytest.fixture
def lab(transactional_db, settings, admin, place, proxy, name, tmp_path):
    public, private = registered.seal_with_fresh_keys(settings)
    author, approver = registered.person("ann", "admin"), registered.person("ben", "admin")
    cluster = site.register(admin, proxy, author, "site")
    found = site.Site(name, admin, proxy, cluster, author, approver, place)
    keys = {"GPUPORTAL_SEALING_PUBLIC_KEY": public, "GPUPORTAL_SEALING_PRIVATE_KEY": private}
    with stack(tmp_path, **keys) as processes:
        found.processes = processes
        yield found


def forgotten(apply):
    """Let a lost worker's lease be over, as it is after a minute."""
    past = timezone.now() - timedelta(seconds=1)
    Apply.objects.filter(pk=apply.pk, lease_until__isnull=False).update(lease_until=past)


def five_objects(lab):
    """Approve one change of five queues."""
    lab.start(tenants=5)
    edits = [edit for number in range(1, 6) for edit in site.edits_for(lab, number, 5 + number)]
    request = lab.propose(*edits)
    lab.plan(request)
    return lab.approve(request)


def state(apply):
    return Apply.objects.get(pk=apply.pk).state


@pytest.mark.parametrize(
    ("point", "recorded", "written"),
    [
        ("after_claim", 0, 0),
        ("before_apply", 0, 0),
        ("after_apply_before_record", 0, 1),
        ("between_objects:3", 3, 3),
    ],
)
def test_a_killed_worker_leaves_work_that_is_done_once(lab, tmp_path, point, recorded, written):
    apply = five_objects(lab)
    lab.proxy.log.clear()
    once = {point: f"once:{tmp_path / 'killed'}:killgroup"}
    lab.processes.worker(
        "first", GPUPORTAL_FAULTPOINTS=json.dumps(once), PYTHONDONTWRITEBYTECODE="1"
    )
    wake(apply)
    wait_for(lambda: lab.processes.running["first"].poll() is not None)
    assert state(apply) == "running"
    assert apply.results.filter(state="applied").count() == recorded
    assert len(lab.written()) == written
    forgotten(apply)
    lab.processes.worker("second")
    wake(apply)
    wait_for(lambda: state(apply) == "succeeded")
    assert sorted(lab.written().values()) == [1] * 5
    apply.refresh_from_db()
    assert (apply.fence, apply.attempts) == (2, 2)
    assert [lab.nominal(number) for number in range(1, 6)] == ["6", "7", "8", "9", "10"]
    assert audit.verify("platform").intact


def wake(apply):
    assert apply_task.wake(str(apply.pk))


@pytest.fixture
def broker():
    """Give a Redis of this test's own, which may be killed."""
    folder = Path(tempfile.mkdtemp(prefix="gpuportal-test-"))
    folder.chmod(0o711)
    found = Redis.start(folder / "redis", durable=False)
    yield found
    found.stop()
    shutil.rmtree(folder, ignore_errors=True)


def test_ten_changes_survive_the_loss_of_all_of_redis(lab, broker):
    lab.start(tenants=10)
    lab.processes.extra["GPUPORTAL_REDIS_URL"] = broker.url
    lab.processes.worker()
    lab.processes.beat()
    wait_for(lambda: " ready." in lab.processes.log("worker"))
    broker.process.kill()
    broker.process.wait(10)
    applies = []
    for number in range(1, 11):
        request = lab.ask(number, 6)
        lab.plan(request)
        applies.append(lab.approve(request))
    lab.proxy.log.clear()
    assert not Apply.objects.filter(pk__in=[each.pk for each in applies], attempts__gt=0).exists()
    broker.lock.close()
    back = Redis.start(broker.folder, durable=False, port=broker.port)
    broker.process, broker.lock = back.process, back.lock
    begun = time.monotonic()
    wait_for(lambda: Apply.objects.filter(state="succeeded").count() == 11, seconds=150)
    # The goal is a minute; the bound leaves room for a machine that does other things too.
    assert time.monotonic() - begun < 120
    assert sorted(lab.written().values()) == [1] * 10
    finished = Apply.objects.filter(pk__in=[each.pk for each in applies])
    order = list(finished.order_by("finished_at").values_list("pk", flat=True))
    assert order == [each.pk for each in applies]
    assert audit.verify("platform").intact


def test_a_stopped_worker_writes_nothing_after_its_lease_is_over(lab, tmp_path):
    apply = five_objects(lab)
    lab.proxy.log.clear()
    stop = {"between_objects:2": f"once:{tmp_path / 'stopped'}:stop"}
    lab.processes.worker("slow", GPUPORTAL_FAULTPOINTS=json.dumps(stop))
    wake(apply)
    wait_for(lambda: len(lab.written()) == 2 and apply.results.filter(state="applied").count() == 2)
    wait_for(lambda: (tmp_path / "stopped").exists())
    forgotten(apply)
    # The stopped worker still holds the cluster's lock; its connection is cut as by a time-out.
    end_lock_holders(apply.cluster_id)
    lab.processes.worker("second")
    wake(apply)
    wait_for(lambda: state(apply) == "succeeded")
    os.killpg(lab.processes.running["slow"].pid, signal.SIGCONT)
    time.sleep(3)
    assert sorted(lab.written().values()) == [1] * 5
    assert Apply.objects.get(pk=apply.pk).fence == 2


def end_lock_holders(cluster_id):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
            " AND classid = %s AND objid = %s",
            [SPACE, cluster_id],
        )
        assert cursor.rowcount == 1


def test_two_workers_and_doubled_messages_write_once(lab):
    apply = five_objects(lab)
    lab.proxy.log.clear()
    lab.processes.worker("one")
    lab.processes.worker("two")
    for _copy in range(6):
        wake(apply)
    wait_for(lambda: state(apply) == "succeeded")
    time.sleep(1)
    assert sorted(lab.written().values()) == [1] * 5
    assert Apply.objects.get(pk=apply.pk).attempts == 1
    assert Link.objects.count() == 1
