"""Does a credential have exactly the rights of its identity: none missing, none too many?

Rights are read with a SelfSubjectRulesReview in a few namespaces and then asked one by one
where the answer may be incomplete. What an authorizer does not disclose and is not on the
list of dangerous rights cannot be seen; ``Report.incomplete`` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from kube import rbac
from kube.answers import Object
from kube.client import ClusterClient
from kube.rbac import Identity, Rule

ANY = "*"


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """One thing that an identity may do. ``namespace`` ``""`` means everywhere."""

    verb: str
    resource: str = ""
    group: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    def __str__(self) -> str:
        """Return the right in the words that kubectl uses."""
        if self.path:
            return f"{self.verb} {self.path}"
        what = self.resource + (f".{self.group}" if self.group else "")
        name = f" {self.name}" if self.name else ""
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {what}{name}{where}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a credential may do compared with what it should."""

    identity: Identity
    user: str
    missing: tuple[Right, ...] = ()
    surplus: tuple[Right, ...] = ()
    incomplete: bool = False
    namespaces: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Return whether the credential may be used."""
        return not self.missing and not self.surplus


def _all(verb: str, resource: str, group: str = "", **more: str) -> Right:
    return Right(verb, resource, group, **more)


_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"

#: Asked one by one, because an incomplete rules review could hide them.
DANGEROUS = (
    _all(ANY, ANY, ANY),
    _all("get", "secrets"),
    _all("list", "secrets"),
    _all("create", "pods"),
    _all("get", "pods/log"),
    _all("create", "pods/exec"),
    _all("get", "nodes/proxy"),
    _all("create", "workloads", "kueue.x-k8s.io"),
    _all("patch", "workloads", "kueue.x-k8s.io"),
    _all("patch", "workloads/status", "kueue.x-k8s.io"),
    _all("patch", "clusterqueues/status", "kueue.x-k8s.io"),
    _all("delete", "namespaces"),
    _all("create", "serviceaccounts"),
    _all("create", "serviceaccounts/token"),
    _all("create", "clusterroles", _RBAC),
    _all("create", "clusterrolebindings", _RBAC),
    _all("create", "roles", _RBAC),
    _all("create", "rolebindings", _RBAC),
    _all("escalate", "clusterroles", _RBAC),
    _all("bind", "clusterroles", _RBAC),
    _all("impersonate", "users"),
    _all("impersonate", "groups"),
    _all("impersonate", "serviceaccounts"),
    _all("create", "mutatingwebhookconfigurations", _ADMISSION),
    _all("patch", "validatingwebhookconfigurations", _ADMISSION),
    _all("patch", "validatingadmissionpolicies", _ADMISSION),
    _all("patch", "validatingadmissionpolicybindings", _ADMISSION),
    _all("patch", "customresourcedefinitions", "apiextensions.k8s.io"),
    _all("approve", "signers", "certificates.k8s.io"),
    _all("create", "certificatesigningrequests", "certificates.k8s.io"),
)

#: What Kubernetes gives to every authenticated account.
_EVERYBODY = (
    Rule(
        verbs=("create",),
        group="authorization.k8s.io",
        resources=("selfsubjectaccessreviews", "selfsubjectrulesreviews"),
    ),
    Rule(verbs=("create",), group="authentication.k8s.io", resources=("selfsubjectreviews",)),
    Rule(
        verbs=("get", "list", "watch"),
        group="certificates.k8s.io",
        resources=("clustertrustbundles",),
    ),
    Rule(
        verbs=("get", "head"),
        paths=(
            "/api",
            "/api/*",
            "/apis",
            "/apis/*",
            "/healthz",
            "/livez",
            "/readyz",
            "/openapi",
            "/openapi/*",
            "/version",
            "/version/",
            "/.well-known/openid-configuration",
            "/.well-known/openid-configuration/",
            "/openid/v1/jwks",
            "/openid/v1/jwks/",
        ),
    ),
)


def preflight(
    client: ClusterClient,
    identity: Identity,
    *,
    kueue_namespace: str = rbac.KUEUE_NAMESPACE,
    namespaces: Iterable[str] = (),
) -> Report:
    """Compare the client's rights with those of ``identity``.

    ``namespaces`` are further namespaces in which a role binding could add rights.
    """
    wanted = rbac.rules(identity, kueue_namespace=kueue_namespace)
    places = tuple(
        dict.fromkeys(("default", "kube-system", rbac.NAMESPACE, kueue_namespace, *namespaces))
    )
    reviews = {place: client.rules(place) for place in places}
    missing = [right for right in _rights(wanted) if not ask(client, right)]
    found = [each for place in places for each in _surplus(reviews[place], wanted, place)]
    surplus = dict.fromkeys(_named_once(found, places))
    for right in DANGEROUS:
        if not _covered(wanted, right) and ask(client, right):
            surplus[right] = None
    return Report(
        identity=identity,
        user=client.whoami(),
        missing=tuple(sorted(missing)),
        surplus=tuple(sorted(surplus)),
        incomplete=any(review.get("incomplete") is True for review in reviews.values()),
        namespaces=places,
    )


def ask(client: ClusterClient, right: Right) -> bool:
    """Ask the cluster about one right."""
    if right.path:
        return client.may_path(right.verb, right.path)
    resource, _, subresource = right.resource.partition("/")
    return client.may(
        right.verb,
        resource,
        group=right.group,
        subresource=subresource,
        namespace=right.namespace,
        name=right.name,
    )


def _read_rules(review: Object) -> Iterator[Rule]:
    for found in review.get("resourceRules") or ():
        for group in found.get("apiGroups") or ("",):
            yield Rule(
                verbs=tuple(found.get("verbs") or ()),
                group=group,
                resources=tuple(found.get("resources") or ()),
                names=tuple(found.get("resourceNames") or ()),
            )
    for found in review.get("nonResourceRules") or ():
        yield Rule(
            verbs=tuple(found.get("verbs") or ()), paths=tuple(found.get("nonResourceURLs") or ())
        )


def _rights(rules: Iterable[Rule]) -> Iterator[Right]:
    for rule in rules:
        place = rule.namespace or ""
        for verb in rule.verbs:
            yield from (Right(verb, path=path) for path in rule.paths)
            for resource in rule.resources:
                for name in rule.names or ("",):
                    yield Right(verb, resource, rule.group, place, name)


def _surplus(review: Object, wanted: tuple[Rule, ...], place: str) -> Iterator[tuple[str, Right]]:
    allowed = (*wanted, *_EVERYBODY)
    for right in dict.fromkeys(_rights(_read_rules(review))):
        if not _covered(allowed, right if right.path else replace(right, namespace=place)):
            yield place, right


def _covered(rules: Iterable[Rule], right: Right) -> bool:
    return any(_grants(rule, right) for rule in rules)


def _grants(rule: Rule, right: Right) -> bool:
    if right.verb not in rule.verbs and ANY not in rule.verbs:
        return False
    if right.path:
        return any(_path_matches(path, right.path) for path in rule.paths)
    if rule.namespace is not None and rule.namespace != right.namespace:
        return False
    if rule.group not in (right.group, ANY) or (rule.names and right.name not in rule.names):
        return False
    _, _, subresource = right.resource.partition("/")
    return any(
        resource in (ANY, right.resource) or (subresource and resource == f"*/{subresource}")
        for resource in rule.resources
    )


def _path_matches(pattern: str, path: str) -> bool:
    return pattern in (ANY, path) or (pattern.endswith("*") and path.startswith(pattern[:-1]))


def _named_once(found: Iterable[tuple[str, Right]], places: tuple[str, ...]) -> Iterator[Right]:
    """Name a right that holds in every namespace that was looked at once, without a place."""
    seen: dict[Right, list[str]] = {}
    for place, right in found:
        seen.setdefault(right, []).append(place)
    for right, where in seen.items():
        if right.path or len(where) == len(places):
            yield right
        else:
            yield from (replace(right, namespace=place) for place in where)
