"""The English words of every problem code of this package.

A code never changes its meaning and is never given to something else. The pages of the portal
translate by code; the braces are filled from :attr:`kube.problems.Problem.params`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_SHAPE: Final = {
    "GP-2101": "this is not JSON: {detail}",
    "GP-2102": "unknown field; known are: {known}",
    "GP-2103": "this field is required",
    "GP-2104": "expected {expected}, got {got}",
    "GP-2105": "the key {key} is written twice in one object",
    "GP-2106": "{value} is not allowed; choose one of: {allowed}",
    "GP-2107": "too large: at most {limit} {unit}",
    "GP-2108": "nested deeper than {limit} levels",
}

_QUANTITIES: Final = {
    "GP-2110": "enter a number",
    "GP-2111": "{value} is not a whole number: digits only, for example 8",
    "GP-2112": "{value} is a part of a device: whole GPUs only; for parts use a MIG or shared flavor",
    "GP-2113": "{value} has a sign: write a number of 0 or more, without + or -",
    "GP-2114": "too large: at most {limit}",
    "GP-2115": "{value} begins with a zero: write the number without it",
    "GP-2116": "{value} is not a number of CPUs: write for example 4, 0.5 or 500m",
    "GP-2117": "{value} is finer than one thousandth of a CPU (1m), the smallest step",
    "GP-2118": "{value} is not an amount of memory: write a whole number with Ki, Mi, Gi, Ti or Pi, "
    "for example 128Gi",
    "GP-2119": "{value} has a decimal unit (1G is 1000000000 bytes): "
    "write Gi for 1024-based units, or ask the platform team if you mean the decimal one",
    "GP-2120": "{value} is not a whole number of a binary unit: write for example 1536Mi",
    "GP-2121": "{amount} bytes is not a whole number of Ki (1024 bytes)",
    "GP-2122": "{value} is not a quantity that Kubernetes knows",
    "GP-2123": "{value} is not a weight: write 0 to 1000 with at most three decimals, for example 1.5",
}

_NAMES: Final = {
    "GP-2130": "{value} is not a short name: begin with a letter, use only a-z, 0-9 and single "
    "hyphens inside, at most 40 characters{hint}",
    "GP-2131": "too long: {length} characters, at most {limit}",
    "GP-2132": "{value} is not a name: use only a-z, 0-9 and hyphens inside, no dots{hint}",
    "GP-2133": "{value} is not a name: use only a-z, 0-9, hyphens and dots inside{hint}",
    "GP-2134": "the namespace {value} belongs to the cluster and to no tenant",
    "GP-2135": "{value} is a reserved word",
    "GP-2136": "the name {value} made from these parts has {length} characters, at most {limit}",
    "GP-2137": "{value} is not a label key: an optional DNS prefix with a slash, then at most 63 "
    "letters, digits, hyphens, dots or underscores",
    "GP-2138": "the label key {value} has a prefix that belongs to a controller",
    "GP-2139": "{value} is not a label value: at most 63 letters, digits, hyphens, dots or "
    "underscores, with a letter or digit at both ends",
    "GP-2140": "{value} is not a resource: use cpu, memory or a device name with its domain, "
    "for example nvidia.com/gpu",
    "GP-2141": "enter a name",
    "GP-2142": "{value} has a control or invisible character",
    "GP-2143": "too long: {length} characters, at most {limit}",
    "GP-2144": "{value} has letters with separate accents: write it in composed form (NFC)",
    "GP-2145": "{value} mixes alphabets whose letters look alike: is this the team it seems to be?",
    "GP-2146": "YAML reads {value} as a number or a date: begin the name with a letter",
}

_RELATIONS: Final = {
    "GP-2150": "the name {name} is used twice",
    "GP-2151": "there is no {kind} named {name}",
    "GP-2152": "the tenants {tenants} both have an entry in the namespace {namespace}: it can be of one only",
    "GP-2153": "the tree of departments has a circle: {path}",
    "GP-2154": "a department cannot be its own parent",
    "GP-2155": "the name default makes Kueue put this {kind} on every job that names none",
}

_QUOTAS: Final = {
    "GP-2160": "{flavor} has two lines for {resource}",
    "GP-2161": "the flavors {first} and {second} share a resource, so both need the same lines: "
    "{flavor} lacks {missing}. Kueue wants all covered resources in every flavor of a group; add "
    "the lines (0 is allowed), or give the flavors queues of their own",
    "GP-2162": "{flavor} has {resource} but no line for {missing}: its jobs would wait for ever; "
    "add the line beside it",
    "GP-2163": "the flavor {flavor} hands out {offered}, not {resource}",
    "GP-2164": "a borrowing limit is set, but there is no {owner} to borrow from: leave it out",
    "GP-2165": "a lending limit is set, but there is no {owner} to lend to: leave it out",
    "GP-2166": "the lending limit {lending} is above the nominal quota {nominal}",
    "GP-2167": "at least one quota line is needed: without any, no job can start",
    "GP-2168": "{resource} is {actual} for {devices} devices of {flavor}; in proportion it is "
    "{expected} ({ratio} per device)",
    "GP-2169": "the borrowing limit of {resource} is {actual}; to borrow devices of {flavor} up to "
    "their own limit it takes {expected}",
    "GP-2170": "{count} {things}; Kueue takes at most {limit}",
    "GP-2171": "{count} flavors; Kueue 0.17.0 to 0.17.4 can show only {limit} in the status of "
    "an entry",
    "GP-2172": "borrow_within_cohort needs reclaim_within_cohort: it is Never",
    "GP-2173": "reclaim_within_cohort does nothing without a department",
    "GP-2174": "max_priority_threshold needs borrow_within_cohort: it is Never",
    "GP-2175": "{value} does not fit: a priority is from {lowest} to {highest}",
    "GP-2176": "the nominal quota of {flavor} adds up to {committed} devices, the pool has "
    "{capacity}: {excess} too many",
    "GP-2177": "{value} does not fit: this is from {lowest} to {highest}",
}

_FLAVORS: Final = {
    "GP-2180": "a flavor with a topology needs at least one node label",
    "GP-2181": "{other} selects the same nodes: Kueue would hand them out twice",
    "GP-2182": "a flavor with devices and without node labels lets its pods run on any node",
    "GP-2183": "at most {limit} are allowed, here are {count}",
    "GP-2184": "two taints have the key {key} and the effect {effect}",
    "GP-2185": "a toleration without key must have the operator Exists",
    "GP-2186": "a toleration with the operator Exists has no value",
    "GP-2187": "toleration_seconds needs the effect NoExecute",
    "GP-2188": "kubernetes.io/hostname can only be the last level",
    "GP-2189": "the level {level} is written twice",
    "GP-2190": "write 1 to {limit} levels, here are {count}",
    "GP-2191": "a MIG flavor needs a MIG profile, and only a MIG flavor has one",
    "GP-2192": "the profile {profile} belongs to {expected}, not to {resource}",
    "GP-2193": "{field} needs a flavor with a device resource",
}

_OBJECTS: Final = {
    "GP-2200": "namespaceSelector must name labels: an empty one takes every namespace, "
    "null takes none",
    "GP-2201": "{kind} of {version} is not an object that the portal writes",
    "GP-2202": "the flavors of a group need the same resources as coveredResources, "
    "in the same order",
    "GP-2203": "{field} must be written, or a change by somebody else would stay",
    "GP-2204": "spec must not be empty: a later apply would send null",
    "GP-2205": "the object {name} occurs twice",
    "GP-2206": "these are no resource groups with coveredResources, flavors and their resources",
    "GP-2207": "a {kind} needs a {field}",
    "GP-2208": "a {kind} belongs to the whole cluster and has no namespace",
}

_EDITS: Final = {
    "GP-2210": "the {kind} {name} exists and would be gone: nothing is removed by leaving it out",
    "GP-2211": "the queue {queue} belongs to the tenant {tenant}: a queue does not change hands",
    "GP-2212": "the flavor {flavor} has no devices or no ratio, so nothing can be in proportion",
    "GP-2213": "a topology keeps its levels: make a new topology and a new flavor",
    "GP-2214": "a flavor with a topology keeps its topology, node labels and tolerations: "
    "make a new flavor and move the queues",
    "GP-2215": "the entry {entry} leads to {queue} for good: make one with another name",
}

_EXPLANATIONS: Final = {
    "GP-2220": "there is no Workload and no job in here that could be explained",
}

MESSAGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        **_SHAPE, **_QUANTITIES, **_NAMES, **_RELATIONS, **_QUOTAS, **_FLAVORS, **_OBJECTS,
        **_EDITS, **_EXPLANATIONS,
    }
)  # fmt: skip
