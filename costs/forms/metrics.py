"""The form that says where the use of a cluster's GPUs is asked for; each refusal at its field."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from costs.forms.fields import LineField, WholeField
from kube.credentials import MAX_TEXT
from portal.web.forms import OnceForm

_PLAIN = {"spellcheck": "false", "autocomplete": "off"}
FIELDS = ("server", "ca_pem", "token", "job", "interval")


class MetricsForm(OnceForm):
    """An address, what to trust, and what to ask for. A token that is stored is never shown."""

    use_required_attribute = False

    server = forms.CharField(
        label=_("Address"), max_length=300, widget=forms.URLInput(_PLAIN),
        help_text=_("Of Prometheus, or of what answers like it: https://prometheus.example.com. Without the path /api/v1."),
    )  # fmt: skip
    token = forms.CharField(
        label=_("Token"), required=False, max_length=16_400,
        widget=forms.PasswordInput(_PLAIN | {"autocomplete": "new-password"}),
        help_text=_("Sent over https alone. It is sealed; this web server cannot read it again."),
    )  # fmt: skip
    forget = forms.BooleanField(label=_("Forget the token that is stored"), required=False)
    ca_pem = forms.CharField(
        label=_("Certificate authority"), required=False, max_length=MAX_TEXT,
        widget=forms.Textarea(_PLAIN | {"rows": 4, "class": "mono"}),
        help_text=_("In PEM; with it no other one is trusted. Without it, those of the system are."),
    )  # fmt: skip
    job = LineField(
        label=_("Job of the exporters"), required=False, max_length=200,
        widget=forms.TextInput(_PLAIN),
        help_text=_("The label job of dcgm-exporter's metrics. Empty: the one there is."),
    )  # fmt: skip
    interval = WholeField(
        label=_("Seconds between scrapes"), required=False, least=1, most=300,
        help_text=_("Empty: as Prometheus says of its targets. Needed where it does not say that."),
    )  # fmt: skip

    def facts(self) -> dict[str, Any]:
        """Give what the service stores: no token keeps the one that is stored."""
        data = self.cleaned_data
        token: str | None = data["token"] or None
        return {
            "server": data["server"].strip().rstrip("/"),
            "ca_pem": data["ca_pem"].strip(),
            "token": "" if data["forget"] and token is None else token,
            "job": data["job"],
            "interval": data["interval"],
        }
