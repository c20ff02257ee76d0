"""What the tests of bad input share: a catalog, a form for quota, one for a flavor, a refusal."""

import pytest

from kube.edits import SetQuota
from tenants.forms import QuotaRequestForm
from tenants.forms.catalog import FlavorForm
from tenants.models import Request
from tenants.services import requests
from tests import cast

KEY = "key-0123456789"
CATALOG = cast.catalog()
QUEUE = CATALOG.tenants[0].queues[0]
GPU = "nlp-train/a100/nominal"


def quota_form(**values):
    sent = {GPU: "20", "nlp-train/a100/borrowing_limit": "unlimited",
            "nlp-train/a100/lending_limit": "everything", "reason": "Because."}  # fmt: skip
    return QuotaRequestForm({**sent, **values}, catalog=CATALOG, tenant="nlp")


def codes(form, name):
    form.is_valid()
    return [error.code for error in form.errors.as_data().get(name, [])]


def flavor_form(spec=CATALOG.flavors[0], **values):
    shown = {field.name: field.value() for field in FlavorForm(catalog=CATALOG, spec=spec)}
    sent = {name: "" if value is None else value for name, value in shown.items()}
    return FlavorForm({**sent, "reason": "r", **values}, catalog=CATALOG, spec=spec)


def refusal_of(people, edits, *, kind="catalog", tenant=None, actor=None):
    with pytest.raises(requests.Invalid) as refused:
        requests.submit(
            actor=actor or people.dave, cluster=people.cluster, tenant=tenant, kind=kind,
            edits=edits, reason="r", key=KEY,
        )  # fmt: skip
    assert not Request.objects.exists()
    return refused.value.problems


def quota(**more):
    return SetQuota(
        **{
            "queue": "nlp-train",
            "flavor": "a100",
            "resource": "nvidia.com/gpu",
            "nominal": 16,
            **more,
        }
    )
