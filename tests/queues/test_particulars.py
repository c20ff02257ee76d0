"""The next step in the cluster's own terms: numbers, labels and names that a person has to know."""

import pytest

from queues import access, reading
from queues.kueue_words import taint_parts
from queues.models import ObservedObject, Workload
from queues.reading import text_of
from tests.cast import MARK
from tests.query_counts import counted
from tests.queues import seen

LEVELS = ("gpu-lab.io/rack", "kubernetes.io/hostname")
BUSY = 'resource "nvidia.com/gpu": 4'


@pytest.fixture
def day(lab):
    """The usual day, with what the cluster says of its flavor, its topology and its checks."""
    seen.lab(lab.cluster)
    flavor = {
        "nodeLabels": {"gpu-lab.io/model": "a100"}, "topologyName": "racks",
        "nodeTaints": [{"key": "dedicated", "value": "vision", "effect": "NoSchedule"}],
    }  # fmt: skip
    topology = {"levels": [{"nodeLabel": level} for level in LEVELS]}
    check = {"controllerName": "example.com/budget"}
    seen.observed(lab.cluster, "ResourceFlavor", "a100", {"spec": flavor})
    seen.observed(lab.cluster, "Topology", "racks", {"spec": topology})
    seen.observed(lab.cluster, "AdmissionCheck", "budget", {"spec": check})
    return lab


def stopped(lab, code, /, stage="request", never=True, **more):
    """The job of the language team that is stopped by this code."""
    row = {"params": {}, "raw": "", "stage": stage, "code": code, "never": never}
    return seen.workload(lab.cluster, "train-1", **(row | more))


def steps(lab, who=None):
    sight = access.sight(who or lab.bob)
    return reading.why(sight, access.job(sight, "nlp", "train-1", "lab")).steps


def step(lab, code, who=None):
    (found,) = (each for each in steps(lab, who) if each.code == code)
    return found


def limit(lab, namespace="nlp", **limits):
    body = {"spec": {"limits": [{"type": "Container", **limits}]}}
    seen.observed(lab.cluster, "LimitRange", "small", body, namespace=namespace)


@pytest.mark.parametrize(
    ("side", "bound", "text"),
    [
        ("above", "max", "At most 0.5 CPU in one container, says the LimitRange small."),
        ("below", "min", "At least 0.5 CPU in one container, says the LimitRange small."),
    ],
)
def test_a_broken_limit_is_told_with_its_number(day, side, bound, text):
    limit(day, **{bound: {"cpu": "500m", "memory": "1Gi"}})
    limit(day, namespace="cv", **{bound: {"cpu": "7"}})
    raw = f'Invalid value: ["cpu"]: requests must not be {side} the limitRange {bound}'
    stopped(day, "limit_range", params={"text": raw, "field": "spec"})

    assert step(day, "limit").text == text
    assert "LimitRange" in text_of(reading.why(access.everything(), Workload.objects.get()))


def test_each_amount_has_its_resource(day):
    limit(day, max={"memory": "1Gi", "nvidia.com/gpu": "4"})
    text = (
        'Invalid value: ["memory" "nvidia.com/gpu"]: requests must not be above the limitRange max'
    )
    stopped(day, "limit_range", params={"text": text, "field": "spec"})

    told = [each.text.split(" in one")[0] for each in steps(day) if each.code == "limit"]
    assert told == ["At most 1 GiB of memory", "At most 4 of nvidia.com/gpu"]


@pytest.mark.parametrize("limits", [None, "x", ["cpu"], {"memory": "1"}])
def test_a_limit_that_cannot_be_read_is_not_told(day, limits):
    limit(day, max=limits)
    text = 'Invalid value: ["cpu"]: requests must not be above the limitRange max'
    stopped(day, "limit_range", params={"text": text, "field": "spec"})

    assert {each.code for each in steps(day)} == {"limit_range"}


def test_a_selector_is_shown_the_labels_of_the_flavor(day):
    stopped(day, "selector_mismatch", params={"flavor": "a100"})

    found = step(day, "labels")
    assert "flavor a100" in found.text
    assert found.copy == "gpu-lab.io/model: a100"


def test_pods_on_no_machine_are_shown_the_labels_of_what_is_held(day):
    held = [{"flavor": "a100", "resource": "nvidia.com/gpu", "amount": 8}]
    stopped(day, "pods_match_no_node", stage="pods", state="starting", held=held)

    assert step(day, "labels").copy == "gpu-lab.io/model: a100"


def on_machines_with(lab, **labels):
    held = [{"flavor": "a100", "resource": "nvidia.com/gpu", "amount": 8}]
    row = ObservedObject.objects.get(kind="ResourceFlavor", name="a100")
    row.body["spec"]["nodeLabels"] = labels
    row.save(update_fields=["body"])
    stopped(lab, "pods_match_no_node", stage="pods", state="starting", held=held)


def test_a_flavor_that_no_machine_carries_is_no_fault_of_the_job(day):
    on_machines_with(day, **{"gpu-lab.io/model": "b200"})

    assert "no change of the job helps" in step(day, "unbacked").text
    assert {"labels", "pods_match_no_node"}.isdisjoint(each.code for each in steps(day))


@pytest.mark.parametrize("labels", [{}, {"gpu-lab.io/model": "a100"}])
def test_a_flavor_that_some_machine_carries_leaves_it_to_the_job(day, labels):
    on_machines_with(day, **labels)

    codes = [each.code for each in steps(day)]
    assert codes[0] == "pods_match_no_node"
    assert "unbacked" not in codes


def test_without_a_known_machine_nothing_is_said_of_them(day):
    ObservedObject.objects.filter(kind="Node").delete()
    on_machines_with(day, **{"gpu-lab.io/model": "b200"})

    assert step(day, "labels").copy == "gpu-lab.io/model: b200"


def test_what_is_switched_off_comes_with_the_command_that_switches_it_on(day):
    stopped(day, "deactivated", stage="", state="deactivated")

    assert step(day, "switch_on").copy == (
        "kubectl patch workload job-train-1-0a1b2 -n nlp --type merge "
        """-p '{"spec":{"active":true}}'"""
    )


@pytest.mark.parametrize(
    ("code", "taint"),
    [
        ("untolerated_taint", "dedicated vision NoSchedule <nil>"),
        ("pods_untolerated_taint", "dedicated: vision"),
    ],
)
def test_a_taint_comes_with_the_lines_of_a_toleration(day, code, taint):
    stopped(day, code, params={"flavor": "a100", "taint": taint})

    assert step(day, "toleration").copy.splitlines() == [
        "tolerations:", "- key: dedicated", "  operator: Equal", "  value: vision",
        "  effect: NoSchedule",
    ]  # fmt: skip


def test_of_taints_with_one_key_the_printed_one_is_tolerated(day):
    row = ObservedObject.objects.get(kind="ResourceFlavor", name="a100")
    row.body["spec"]["nodeTaints"] = [
        {"key": "dedicated", "value": team, "effect": "NoSchedule"} for team in ("speech", "vision")
    ]
    row.save(update_fields=["body"])
    taint = "dedicated vision NoSchedule <nil>"
    stopped(day, "untolerated_taint", params={"flavor": "a100", "taint": taint})

    assert "  value: vision" in step(day, "toleration").copy.splitlines()


def test_a_taint_that_was_not_printed_is_not_guessed(day):
    stopped(day, "untolerated_taint", params={"flavor": "a100"})

    assert "toleration" not in [each.code for each in steps(day)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", {}),
        ("<nil>", {}),
        ("NoSchedule", {"effect": "NoSchedule"}),
        ("gpu  NoExecute <nil>", {"key": "gpu", "effect": "NoExecute"}),
        ("gpu: ", {"key": "gpu"}),
        ("a=b NoSchedule", {"key": "a", "value": "b", "effect": "NoSchedule"}),
        ("a b c d", {"key": "a", "value": "b"}),
    ],
)
def test_taints_are_read_as_they_are_printed(text, parts):
    assert taint_parts(text) == parts


def test_a_check_is_told_with_who_decides_it(day):
    stopped(day, "check_pending", stage="check", never=False, params={"check": "budget"})

    assert "the controller example.com/budget;" in step(day, "controller").text


def test_what_a_queue_covers_is_told_to_a_job_that_asks_for_something_else(day):
    stopped(day, "resource_not_covered", params={"resource": "example.com/fpga"})

    assert step(day, "covered").text == (
        "Its queue has quota of nvidia.com/gpu, CPU, memory, and of nothing else."
    )


# --- room on machines -----------------------------------------------------------------------------


def roomless(lab, devices, parts="1", unit="pod", excluded=BUSY, code="topology_too_small"):
    params = {"topology": "racks", "parts": parts, "unit": unit, "nodes": "4", "fits": "1"}
    row = {"params": params | {"excluded": excluded}, "devices": devices}
    reason = {"stage": "topology", "code": code, "freed_by": "nodes", "never": False}
    return stopped(lab, code, stage="topology", never=False, reasons=[reason | row], **row)


def test_a_pod_larger_than_every_machine_need_not_wait(day):
    roomless(day, 16)

    assert step(day, "machines").text.startswith(
        "Each pod asks for 16 GPUs, and the largest machine has 8 GPUs: waiting does not help."
    )
    assert [each.code for each in steps(day)] == ["machines"]


@pytest.mark.parametrize(
    ("body", "fits"),
    [
        ({"allocatable": {"nvidia.com/gpu": "16"}}, True),
        ({"allocatable": {"nvidia.com/gpu": "16"}, "unschedulable": True}, True),
        ({"allocatable": {"nvidia.com/gpu": "16"}, "ready": False}, True),
        ({"allocatable": {"nvidia.com/gpu": "16"}, "labels": {}}, False),
        ({"allocatable": {"nvidia.com/gpu": "sixteen"}}, False),
        ({"allocatable": {"vpc.amazonaws.com/pod-eni": "16"}}, False),
        ({"allocatable": None}, False),
        ({"allocatable": []}, False),
    ],
)
def test_a_machine_counts_that_is_large_enough_though_it_is_closed_now(day, body, fits):
    known = {"labels": {"gpu-lab.io/model": "a100"}, "ready": True, "unschedulable": False}
    seen.observed(day.cluster, "Node", "large", known | body, in_sync=None)
    roomless(day, 16)

    assert ("waiting does not help" in step(day, "machines").text) is not fits


def test_a_pod_that_a_free_machine_would_take_waits_for_others(day):
    roomless(day, 8)

    assert step(day, "machines").text.endswith("it is large enough, but has no room now.")
    assert step(day, "wait").text.startswith("Or wait: it starts by itself")
    assert "topology_too_small" not in [each.code for each in steps(day)]


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"excluded": f'{BUSY}, taint "x": 2'}, "the largest machine has 8 GPUs."),
        ({"unit": "slice"}, "The largest machine for it has 8 GPUs."),
        ({"parts": "3"}, "The largest machine for it has 8 GPUs."),
    ],
)
def test_what_is_not_certain_about_room_is_not_said(day, more, text):
    roomless(day, 8, **more)

    assert step(day, "machines").text.endswith(text)


@pytest.mark.parametrize("excluded", ["", 'resource "cpu": 4', f'{BUSY}, resource "cpu": 1'])
def test_sizes_are_compared_only_for_the_one_device_that_is_lacking(day, excluded):
    roomless(day, 16, excluded=excluded)

    assert [each.code for each in steps(day)] == ["topology_too_small", "wait"]


@pytest.mark.parametrize("code", ["topology_partly", "topology_level_unknown"])
def test_levels_of_nearness_are_named_the_widest_first(day, code):
    roomless(day, 24, parts="3", code=code)

    found = step(day, "levels")
    assert found.text.endswith("the widest first: gpu-lab.io/rack, kubernetes.io/hostname.")
    assert found.copy == "kueue.x-k8s.io/podset-preferred-topology: gpu-lab.io/rack"


# --- the line and the way to it -------------------------------------------------------------------


@pytest.mark.parametrize("never", [False, True])
def test_the_head_of_a_strict_line_is_named_to_its_own_people(day, never):
    seen.workload(day.cluster, "first", position=1, never=never)
    stopped(day, "behind_head", stage="order", never=False, position=2)

    found = step(day, "head")
    assert "your job nlp/first" in found.text
    assert ("cannot start as it is" in found.text) is never
    assert found.url.endswith("/c/lab/jobs/nlp/job-first-0a1b2/")


@pytest.mark.parametrize("never", [False, True])
def test_the_head_of_others_is_nobody(day, never):
    seen.workload(day.cluster, MARK, namespace="cv", position=1, never=never)
    stopped(day, "behind_head", stage="order", never=False, position=2)

    found = [each for each in steps(day) if each.code == "head"]
    assert len(found) == never
    assert MARK not in repr(steps(day))


def test_an_entry_is_named_with_what_is_free_there(day):
    stopped(day, "entry_missing", stage="routing", queue="", entry="nowhere")

    found = step(day, "entries")
    assert found.text == "Its namespace has the entry main (0 GPUs free)."
    assert found.copy == "kueue.x-k8s.io/queue-name: main"


@pytest.mark.parametrize(
    "code",
    [
        "limit_range", "selector_mismatch", "no_matching_flavor", "untolerated_taint",
        "pods_match_no_node", "topology_too_small", "topology_partly", "topology_level_unknown",
        "check_pending", "behind_head", "entry_missing", "namespace_mismatch",
        "resource_not_covered",
    ],
)  # fmt: skip
def test_an_empty_cluster_says_nothing_more(lab, code):
    seen.streams(lab.cluster)
    stopped(lab, code, position=2)

    assert {each.code for each in steps(lab)} <= {code, "wait", "ask_admin", "entries", "covered"}


@pytest.mark.parametrize(
    "code", ["limit_range", "topology_too_small", "behind_head", "pods_match_no_node"]
)
def test_what_is_told_besides_costs_no_query_more(day, code):
    limit(day, max={"cpu": "500m"})
    seen.workload(day.cluster, "first", position=1)
    stopped(day, code, position=2, params={"topology": "racks", "parts": "1", "unit": "pod"})
    sight = access.sight(day.bob)
    job = access.job(sight, "nlp", "train-1", "lab")
    with counted("why: particulars of a reason"):
        reading.why(sight, job)
