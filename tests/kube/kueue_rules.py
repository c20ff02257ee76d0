"""What the webhooks and schemas of Kueue 0.17 refuse, written down a second time.

Independent of ``kube.rules``: this looks at rendered objects, the rules look at catalogs. Whatever
the rules let pass must pass here. Every line was seen on a real API server.
"""

import re
from fractions import Fraction

from kube.quantity import canonical

LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
NAME_PART = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
HOSTNAME = "kubernetes.io/hostname"


def refusals(body):
    """Return what Kueue or the API server would say about one object."""
    metadata = body["metadata"]
    labels, notes = metadata.get("labels", {}), metadata.get("annotations", {})
    is_name = is_label if body["kind"] == "Namespace" else is_subdomain
    rules = (
        ("metadata.name", not is_name(metadata["name"])),
        ("metadata.namespace", not is_label(metadata.get("namespace", "a"))),
        ("metadata.labels: key", not all(map(is_label_key, labels))),
        ("metadata.labels: value", not all(map(is_label_value, labels.values()))),
        ("metadata.annotations: key", not all(map(is_label_key, notes))),
        ("metadata.annotations: size", sum(map(len, (*notes, *notes.values()))) > 256 * 1024),
    )
    found = [words for words, wrong in rules if wrong]
    return found + CHECKS[body["kind"]](body)


def is_label(text):
    return len(text) <= 63 and bool(re.fullmatch(LABEL, text))


def is_subdomain(text):
    return len(text) <= 253 and bool(re.fullmatch(SUBDOMAIN, text))


def is_label_key(text):
    prefix, slash, name = text.rpartition("/")
    good = len(name) <= 63 and bool(re.fullmatch(NAME_PART, name))
    return good and (not slash or is_subdomain(prefix))


def is_label_value(text):
    return len(text) <= 63 and bool(re.fullmatch(rf"({NAME_PART})?", text))


def nothing(_body):
    return []


def topology(body):
    levels = [each["nodeLabel"] for each in body["spec"]["levels"]]
    return [
        words
        for words, wrong in (
            ("levels: 1 to 16", not 1 <= len(levels) <= 16),
            ("levels: must be unique", len(set(levels)) != len(levels)),
            ("levels: hostname only at the lowest level", HOSTNAME in levels[:-1]),
            ("levels: label keys", not all(map(is_label_key, levels))),
        )
        if wrong
    ]


def flavor(body):
    spec = body.get("spec", {})
    labels, taints = spec.get("nodeLabels", {}), spec.get("nodeTaints", [])
    tolerations = spec.get("tolerations", [])
    pairs = [(each["key"], each["effect"]) for each in taints]
    found = [f"toleration {words}" for each in tolerations for words in toleration(each)]
    found += [
        words
        for words, wrong in (
            (
                "at least one nodeLabel is required when topology is set",
                "topologyName" in spec and not labels,
            ),
            ("too many labels", len(labels) > 8),
            ("too many taints", len(taints) > 8),
            ("too many tolerations", len(tolerations) > 8),
            ("taints must be unique by key and effect pair", len(set(pairs)) != len(pairs)),
            ("taint effect", any(each["effect"] not in EFFECTS for each in taints)),
            ("taint key", not all(is_label_key(each["key"]) for each in taints)),
            ("label key", not all(map(is_label_key, labels))),
            ("label value", not all(map(is_label_value, labels.values()))),
        )
        if wrong
    ]
    return found


def toleration(each):
    exists = each.get("operator") == "Exists"
    rules = (
        ("operator must be Exists when key is empty", not each.get("key") and not exists),
        ("a value must be empty when operator is Exists", exists and bool(each.get("value"))),
        (
            "effect must be NoExecute",
            "tolerationSeconds" in each and each.get("effect") != "NoExecute",
        ),
        ("effect", each.get("effect", EFFECTS[0]) not in EFFECTS),
    )
    return [words for words, wrong in rules if wrong]


def cohort(body):
    spec = body["spec"]
    return weight(spec) + groups(spec, "parentName" in spec, lending_within_nominal=False)


def cluster_queue(body):
    spec = body["spec"]
    preemption = spec["preemption"]
    borrow = preemption["borrowWithinCohort"]["policy"]
    found = weight(spec) + groups(spec, "cohortName" in spec, lending_within_nominal=True)
    if preemption["reclaimWithinCohort"] == "Never" and borrow != "Never":
        found.append("reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never")
    threshold = preemption["borrowWithinCohort"].get("maxPriorityThreshold", 0)
    if not -(2**31) <= threshold < 2**31:
        found.append("maxPriorityThreshold: int32")
    return found


def local_queue(body):
    return [] if is_subdomain(body["spec"]["clusterQueue"]) else ["clusterQueue"]


def priority(body):
    found = [] if -(2**31) <= body["value"] < 2**31 else ["value: int32"]
    return found + (["description: too long"] if len(body.get("description", "")) > 2048 else [])


def weight(spec):
    value = canonical(spec["fairSharing"]["weight"])
    return ["weight"] if value < 0 or 0 < value <= Fraction(1, 10**9) else []


def groups(spec, has_parent, *, lending_within_nominal):
    found = []
    made = spec.get("resourceGroups", [])
    resources = [name for group in made for name in group["coveredResources"]]
    flavors = [each["name"] for group in made for each in group["flavors"]]
    pairs = [len(group["flavors"]) * len(group["coveredResources"]) for group in made]
    rules = (
        ("resourceGroups: too many", len(made) > 16),
        ("coveredResources: duplicate", len(set(resources)) != len(resources)),
        ("flavors: duplicate", len(set(flavors)) != len(flavors)),
        (
            "flavors: too many",
            any(len(group["flavors"]) > 64 for group in made) or len(flavors) > 256,
        ),
        ("resources: too many", any(len(group["coveredResources"]) > 64 for group in made)),
        ("pairs: too many", max(pairs, default=0) > 512),
        ("coveredResources: names", not all(map(is_label_key, resources))),
        ("flavors: names", not all(map(is_subdomain, flavors))),
    )
    found += [words for words, wrong in rules if wrong]
    for group in made:
        for each in group["flavors"]:
            if [line["name"] for line in each["resources"]] != group["coveredResources"]:
                found.append("resources: must match the name in coveredResources")
            for line in each["resources"]:
                found += quota(line, has_parent, lending_within_nominal)
    return found


def quota(line, has_parent, lending_within_nominal):
    nominal = canonical(line["nominalQuota"])
    limits = {
        key: canonical(line[key]) for key in ("borrowingLimit", "lendingLimit") if key in line
    }
    lending = limits.get("lendingLimit", 0)
    rules = (
        ("must be nil when there is no cohort or parent", bool(limits) and not has_parent),
        ("must be greater than or equal to 0", min([nominal, *limits.values()]) < 0),
        ("lendingLimit above nominalQuota", lending_within_nominal and lending > nominal),
    )
    return [words for words, wrong in rules if wrong]


CHECKS = {
    "Namespace": nothing,
    "Topology": topology,
    "ResourceFlavor": flavor,
    "Cohort": cohort,
    "ClusterQueue": cluster_queue,
    "LocalQueue": local_queue,
    "WorkloadPriorityClass": priority,
}
