"""ResourceFlavor: which nodes, which taints, which topology, and the facts people choose by."""

from __future__ import annotations

from kube import keys, quantity
from kube.catalog import CPU, MEMORY, FlavorSpec, Taint, Toleration
from kube.digest import canonical_json
from kube.manifest import Manifest
from kube.names import is_label_value
from kube.render.objects import JSON, build, set_only


def flavor(spec: FlavorSpec) -> Manifest:
    """Render one flavor; its attributes become labels where they can be, else annotations."""
    facts = _facts(spec)
    labels = {key: value for key, value in facts.items() if is_label_value(value)}
    annotations = {key: value for key, value in facts.items() if key not in labels}
    content = set_only(
        {
            "nodeLabels": dict(sorted(spec.node_labels)),
            "nodeTaints": [_taint(each) for each in _sorted_taints(spec.taints)],
            "tolerations": sorted(map(_toleration, spec.tolerations), key=canonical_json),
            "topologyName": spec.topology,
        }
    )
    body = {"spec": content} if content else {}
    return build("ResourceFlavor", spec.name, body, labels=labels, annotations=annotations)


def _facts(spec: FlavorSpec) -> dict[str, str]:
    return {
        keys.CAPABILITY: spec.capability,
        keys.MODEL: spec.model,
        keys.RESOURCE: spec.resource,
        keys.DEVICE_KIND: spec.device_kind.value if spec.resource else "",
        keys.MIG_PROFILE: spec.mig_profile,
        keys.PURCHASE: spec.purchase.value,
        keys.INTERCONNECT: spec.interconnect,
        keys.REGION: spec.region,
        keys.ZONE: spec.zone,
        keys.RACK: spec.rack,
        keys.POWER_DOMAIN: spec.power_domain,
        keys.CPU_PER_DEVICE: _number(CPU, spec.cpu_per_device),
        keys.MEMORY_PER_DEVICE: _number(MEMORY, spec.memory_per_device),
        keys.CAPACITY: "" if spec.capacity is None else str(spec.capacity),
    }


def _number(resource: str, amount: int | None) -> str:
    return "" if amount is None else quantity.plain(resource, amount)


def _sorted_taints(taints: tuple[Taint, ...]) -> list[Taint]:
    return sorted(taints, key=lambda each: (each.key, each.effect, each.value))


def _taint(spec: Taint) -> JSON:
    return set_only({"key": spec.key, "value": spec.value, "effect": spec.effect})


def _toleration(spec: Toleration) -> JSON:
    return set_only(
        {
            "key": spec.key,
            "operator": spec.operator,
            "value": spec.value,
            "effect": spec.effect,
            "tolerationSeconds": spec.toleration_seconds,
        }
    )
