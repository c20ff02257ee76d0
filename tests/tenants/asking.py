"""Asking for quota as the team lead of a small lab does."""

from tenants.services import catalog, requests
from tenants.services.proposals import devices

KEY = "key-0123456789"


def wish(people, nominal=24, queue="nlp-train"):
    return devices(catalog.head(people.cluster), queue, "a100", nominal)


def ask(
    people, actor=None, *, edits=None, key=KEY, reason="A new model.", kind="quota", tenant=...
):
    return requests.submit(
        actor=actor or people.alice,
        cluster=people.cluster,
        tenant=people.nlp if tenant is ... else tenant,
        kind=kind,
        edits=wish(people) if edits is None else edits,
        reason=reason,
        key=key,
    )


def problems_of(refused):
    return [(each.field, each.code) for each in refused.value.problems]
