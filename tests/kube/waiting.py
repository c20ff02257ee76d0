"""Small Workloads, queues and pods for the tests of explanations."""

GPU = "nvidia.com/gpu"


def condition(kind, status, reason="", message="", since=None):
    made = {"type": kind, "status": status, "reason": reason, "message": message}
    return made | ({"lastTransitionTime": since} if since else {})


def pod_set(name="main", count=1, gpus=0, minimum=None, **resources):
    asked = {key: str(value) for key, value in resources.items()}
    asked |= {GPU: str(gpus)} if gpus else {}
    made = {
        "name": name,
        "count": count,
        "template": {"spec": {"containers": [{"resources": {"requests": asked}}]}},
    }
    return made | ({"minCount": minimum} if minimum is not None else {})


def workload(*conditions, pods=(), name="w", spec=None, **status):
    return {
        "kind": "Workload",
        "metadata": {
            "name": name, "namespace": "team", "uid": f"uid-{name}",
            "creationTimestamp": "2026-11-29T10:00:00Z",
            "ownerReferences": [{"kind": "Job", "name": name, "controller": True, "uid": "j"}],
        },
        "spec": {"podSets": list(pods), "queueName": "entry"} | (spec or {}),
        "status": {"conditions": list(conditions)} | status,
    }  # fmt: skip


def waits(text, *more, reason="Pending", pods=(), **about):
    """A workload of which the scheduler said this."""
    said = condition("QuotaReserved", "False", reason, text, "2026-11-29T10:05:00Z")
    return workload(said, *more, pods=pods, **about)


def admitted(*more, pods=(), **status):
    held = condition("QuotaReserved", "True", "QuotaReserved", since="2026-11-29T10:05:00Z")
    runs = condition("Admitted", "True", "Admitted", since="2026-11-29T10:05:00Z")
    return workload(held, runs, *more, pods=pods, **status)


def line(nominal, borrowing=None, lending=None, resource=GPU):
    limits = {"borrowingLimit": borrowing, "lendingLimit": lending}
    set_ = {key: str(value) for key, value in limits.items() if value is not None}
    return {"name": resource, "nominalQuota": str(nominal)} | set_


def flavors(**lines):
    """Resource groups: one group, a flavor for each keyword; a value is one line or several."""
    given = {name: each if isinstance(each, list) else [each] for name, each in lines.items()}
    first = next(iter(given.values()))
    return [
        {
            "coveredResources": [each["name"] for each in first],
            "flavors": [{"name": name, "resources": each} for name, each in given.items()],
        }
    ]


def used(**totals):
    """The status of a ClusterQueue: by flavor, what is held of the devices or of each resource."""
    rows = [
        {
            "name": flavor,
            "resources": [
                {"name": name, "total": str(total)}
                for name, total in (held if isinstance(held, dict) else {GPU: held}).items()
            ],
        }
        for flavor, held in totals.items()
    ]
    return {"flavorsReservation": rows}


def cluster_queue(name="q", groups=(), cohort="", active=None, status=None, **spec):
    spec = {"resourceGroups": list(groups), "namespaceSelector": {}} | spec
    spec |= {"cohortName": cohort} if cohort else {}
    conditions = [condition("Active", *active)] if active else []
    return {
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": spec,
        "status": {"conditions": conditions} | (status or {}),
    }


def cohort(name, parent="", groups=()):
    spec = {"resourceGroups": list(groups)} | ({"parentName": parent} if parent else {})
    return {"kind": "Cohort", "metadata": {"name": name}, "spec": spec}


def entry(name="entry", queue="q", active=("True", "Ready"), **spec):
    return {
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"clusterQueue": queue} | spec,
        "status": {"conditions": [condition("Active", *active)]},
    }


def pod(phase="Pending", *, name="p", gates=(), scheduled=None, waiting=None, ended=None, **meta):
    """``scheduled``: a text is why it is not, ``True`` says it is."""
    status = {"phase": phase, "conditions": []}
    if scheduled is not None:
        said = ("True", "") if scheduled is True else ("False", "Unschedulable")
        text = "" if scheduled is True else scheduled
        status["conditions"].append(condition("PodScheduled", *said, text))
    if waiting:
        status["containerStatuses"] = [{"state": {"waiting": {"reason": waiting, "message": "m"}}}]
    if ended:
        status["containerStatuses"] = [{"state": {"terminated": {"reason": ended, "exitCode": 1}}}]
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team"} | meta,
        "spec": {"schedulingGates": [{"name": gate} for gate in gates]},
        "status": status,
    }


def event(reason, note, kind="Workload", name="w", **more):
    about = {"kind": kind, "name": name, "namespace": "team"}
    return {"kind": "Event", "regarding": about, "reason": reason, "note": note} | more


SHORT = "insufficient unused quota for {} in flavor {}, {} more needed"
TOO_MUCH = (
    "insufficient quota for {} in flavor {}, previously considered podsets requests ({}) + "
    "current podset request ({}) > maximum capacity ({})"
)


def short(missing, flavor="a100", resource=GPU):
    return SHORT.format(resource, flavor, missing)


def too_much(asked, capacity, flavor="a100", resource=GPU, earlier="0"):
    return TOO_MUCH.format(resource, flavor, earlier, asked, capacity)


def for_pod_set(*texts, name="main"):
    return f"couldn't assign flavors to pod set {name}: " + ", ".join(texts)
