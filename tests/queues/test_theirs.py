"""What another writer set, in the catalog's own terms."""

import copy

import pytest

from kube.diff import diff
from kube.render import render
from queues.models import PlanObject
from queues.services.theirs import NotExpressible, fields_found, followed
from tests import cast

CATALOG = cast.catalog()


def manifest(kind="ClusterQueue", name="nlp-train"):
    return next(each for each in render(CATALOG) if (each.kind, each.name) == (kind, name))


def planned(body, kind="ClusterQueue", name="nlp-train"):
    return PlanObject(kind=kind, namespace="", name=name, wanted=dict(body))


def found(change):
    """The fields after somebody has changed a live copy of the queue."""
    body = manifest().body
    live = copy.deepcopy(dict(body))
    change(live["spec"])
    changes = [
        {"path": each.path, "before": each.before, "after": each.after, "kind": each.kind}
        for each in diff(live, body)
    ]
    return fields_found(planned(body), changes)


def line(spec, resource):
    flavor = spec["resourceGroups"][0]["flavors"][0]
    return next(each for each in flavor["resources"] if each["name"] == resource)


def follow(change):
    result = followed(CATALOG, planned(manifest().body), found(change))
    return next(queue for _tenant, queue in result.queues() if queue.name == "nlp-train")


def test_numbers_are_followed_in_any_spelling():
    def change(spec):
        line(spec, "nvidia.com/gpu")["nominalQuota"] = "20000m"
        line(spec, "cpu")["nominalQuota"] = "160"
        line(spec, "memory")["borrowingLimit"] = "1024Gi"

    queue = follow(change)
    numbers = {each.resource: (each.nominal, each.borrowing_limit) for each in queue.quotas}
    assert numbers["nvidia.com/gpu"] == (20, None)
    assert numbers["cpu"] == (160_000, None)
    assert numbers["memory"][1] == 2**40


def test_a_stopped_queue_stays_stopped():
    assert follow(lambda spec: spec.update(stopPolicy="Hold")).stop_policy == "Hold"


def test_a_queue_that_left_its_department_has_none():
    assert follow(lambda spec: spec.pop("cohortName")).cohort == ""


@pytest.mark.parametrize(
    "change",
    [
        lambda spec: line(spec, "nvidia.com/gpu").update(nominalQuota="8500m"),
        lambda spec: spec.update(stopPolicy="Sometimes"),
        lambda spec: spec["preemption"].update(withinClusterQueue="LowerPriority"),
        lambda spec: spec.update(namespaceSelector={"matchLabels": {"a": "b"}}),
    ],
)
def test_what_the_catalog_cannot_say_is_refused(change):
    with pytest.raises(NotExpressible):
        follow(change)


def test_only_queues_are_followed():
    flavor = manifest("ResourceFlavor", "a100")
    with pytest.raises(NotExpressible):
        followed(CATALOG, planned(flavor.body, "ResourceFlavor", "a100"), {})
