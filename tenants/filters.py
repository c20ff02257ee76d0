"""What a list can be narrowed by; what cannot be understood narrows nothing."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from portal.web.forms import field_of
from tenants.audit import ACTIONS
from tenants.models import AuditEvent

ANY = ("", _("all"))
LONGEST = 100


class AuditFilter(forms.Form):
    """Which part of the trail to show."""

    scope = forms.ChoiceField(label=_("Chain"), required=False)
    action = forms.ChoiceField(
        label=_("Action"), required=False, choices=[ANY, *sorted(ACTIONS.items())]
    )
    outcome = forms.ChoiceField(
        label=_("Outcome"), required=False, choices=[ANY, *AuditEvent.Outcome.choices]
    )
    person = forms.CharField(label=_("Person"), required=False, max_length=LONGEST)
    object = forms.CharField(label=_("Object"), required=False, max_length=LONGEST)

    def __init__(self, *args: Any, scopes: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        chains = [(each, each) for each in scopes]
        field_of(self, "scope", forms.ChoiceField).choices = [ANY, *chains]

    def narrow(self, rows: QuerySet[AuditEvent]) -> QuerySet[AuditEvent]:
        """Return the rows that match every field that was filled in well."""
        self.full_clean()
        wanted = {name: value for name, value in self.cleaned_data.items() if value}
        for name in ("scope", "action", "outcome"):
            if name in wanted:
                rows = rows.filter(**{name: wanted[name]})
        if "person" in wanted:
            rows = rows.filter(actor_name__icontains=wanted["person"])
        if "object" in wanted:
            rows = rows.filter(object_id=wanted["object"])
        return rows
