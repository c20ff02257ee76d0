"""The form that connects a cluster: two kubeconfigs, read strictly, each refusal at its field."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from kube import names
from kube.connection import Connection
from kube.credentials import MAX_TEXT, KubeconfigRefused, read_kubeconfig
from kube.problems import Refused as BadName
from portal.web.forms import OnceForm
from tenants.models import Cluster
from tenants.sentences import capital, sentence

# What the service calls its fields, and where the person who fills in the form finds them.
PLACES = {
    "server": "reader", "ca_pem": "reader", "reader_token": "reader", "applier_token": "applier",
    "slug": "slug", "display_name": "display_name",
}  # fmt: skip
HELP = {
    "reader": _("The kubeconfig of gpuportal-reader: it may read, and nothing else."),
    "applier": _("The kubeconfig of gpuportal-applier: it may write what the portal owns."),
}


class KubeconfigField(forms.CharField):
    """A pasted kubeconfig, of which only server, CA and token are kept."""

    def __init__(self, *, label: Any, help_text: Any) -> None:
        """Show a plain text area that no browser corrects or remembers."""
        attrs = {"rows": 6, "spellcheck": "false", "autocomplete": "off", "class": "mono"}
        super().__init__(
            label=label, help_text=help_text, max_length=MAX_TEXT, strip=False,
            widget=forms.Textarea(attrs=attrs),
        )  # fmt: skip

    def validate(self, value: Any) -> None:
        """Let the form decide: a file may take the place of the text."""


class ConnectForm(OnceForm):
    """A cluster's name and the portal's two identities there."""

    use_required_attribute = False

    slug = forms.CharField(
        label=_("Short name"), max_length=40, strip=False,
        help_text=_("Part of addresses: small letters, digits and hyphens."),
    )  # fmt: skip
    display_name = forms.CharField(label=_("Display name"), max_length=120)
    replace = forms.BooleanField(
        label=_("Replace the address and the tokens of a cluster that is connected already"),
        required=False,
    )  # fmt: skip
    reader = KubeconfigField(label=_("Kubeconfig to read with"), help_text=HELP["reader"])
    reader_file = forms.FileField(label=_("or as a file"), required=False)
    applier = KubeconfigField(label=_("Kubeconfig to write with"), help_text=HELP["applier"])
    applier_file = forms.FileField(label=_("or as a file"), required=False)

    def clean_slug(self) -> str:
        """Refuse a name that could not be part of an address, or is taken."""
        slug = str(self.cleaned_data["slug"]).strip(" ")
        try:
            names.not_reserved_word(names.slug(slug))
        except BadName:
            raise ValidationError(
                _("Small letters, digits and hyphens; no reserved word.")
            ) from None
        if slug == "register":
            raise ValidationError(_("Small letters, digits and hyphens; no reserved word."))
        return slug

    def clean_display_name(self) -> str:
        """Refuse characters that cannot be seen."""
        try:
            return names.display_text(self.cleaned_data["display_name"])
        except BadName as refusal:
            raise ValidationError(sentence(refusal.at(""))) from None

    def clean(self) -> dict[str, Any]:
        """Read both kubeconfigs; they must lead to the same cluster."""
        data = dict(super().clean() or {})
        known = Cluster.objects.filter(slug=data.get("slug", "")).exists()
        if known and not data.get("replace"):
            self.add_error("slug", _("There is a cluster of this name already."))
        found = {each: self._read(each) for each in ("reader", "applier")}
        reader, applier = found["reader"], found["applier"]
        if reader and applier and reader.server != applier.server:
            self.add_error(
                "applier", _("This leads to another server than the kubeconfig to read with.")
            )
        elif reader and applier and reader.token == applier.token:
            self.add_error(
                "applier", _("This is the identity to read with; writing needs its own.")
            )
        return data | found

    def _read(self, name: str) -> Connection | None:
        file = self.files.get(f"{name}_file")
        text: str | bytes = file.read(MAX_TEXT + 1) if file else self.cleaned_data.get(name, "")
        if not text.strip():
            if name not in self.errors:
                self.add_error(name, _("Paste a kubeconfig, or choose a file."))
            return None
        try:
            found = read_kubeconfig(text)
        except KubeconfigRefused as refusal:
            self.add_error(name, capital(refusal.message))
            return None
        if not found.token:
            self.add_error(
                name,
                _("This holds a client certificate; the portal needs a token that it can renew."),
            )
            return None
        return found

    def facts(self) -> dict[str, str]:
        """Give what the service stores."""
        reader, applier = self.cleaned_data["reader"], self.cleaned_data["applier"]
        return {
            "slug": self.cleaned_data["slug"],
            "display_name": self.cleaned_data["display_name"],
            "server": reader.server,
            "ca_pem": reader.ca_pem,
            "reader_token": reader.token,
            "applier_token": applier.token,
        }
