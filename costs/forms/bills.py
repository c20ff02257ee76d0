"""Forms about bills: where they come from, and a file that is handed in."""

from __future__ import annotations

import re
from typing import Any, Final

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from costs.forms.fields import (
    CurrencyField,
    LineField,
    StrictField,
    same_name,
    understood,
    visible,
)
from costs.models import BillSource
from kube.names import display_text
from portal.web.forms import OnceForm

_ACCOUNT: Final = re.compile(r"[^\s,\x00-\x1f]{1,255}")
_BETWEEN: Final = re.compile(r"[ \t\r\n]+")


class SourceForm(OnceForm):
    """A source of bills."""

    name = LineField(label=_("Name"), max_length=120)
    kind = forms.ChoiceField(label=_("What its files are"), choices=BillSource.Kind.choices)
    currency = CurrencyField(label=_("Currency"), help_text=_("Three letters, such as USD."))
    accounts = StrictField(
        label=_("Accounts"), required=False, max_length=4000, widget=forms.Textarea({"rows": 3}),
        help_text=_("Billing accounts that may stand in its files, one on a line. Empty: any."),
    )  # fmt: skip
    tenant_tag = LineField(
        label=_("Tag of the tenant"), required=False, max_length=120,
        help_text=_("The tag that says which tenant a machine is for, if there is one."),
    )  # fmt: skip

    def clean_name(self) -> str:
        """Take a name that no other source has in some spelling."""
        name: str = self.cleaned_data["name"]
        if same_name(name, BillSource.objects.values_list("name", flat=True)):
            raise forms.ValidationError(_("There is a source of this name."))
        return name

    def clean_accounts(self) -> list[str]:
        """Return the accounts as a list."""
        found = [each for each in _BETWEEN.split(self.cleaned_data["accounts"]) if each]
        if wrong := [each for each in found if not _ACCOUNT.fullmatch(each)]:
            sentence = _("This is no account: %(account)s")
            raise forms.ValidationError(sentence % {"account": wrong[0][:80]})
        return list(dict.fromkeys(visible(understood(display_text, each)) for each in found))


class UploadForm(OnceForm):
    """A file that is handed in. ``too_large`` says that its upload was ended."""

    file = forms.FileField(
        label=_("File"), allow_empty_file=True, max_length=255,
        widget=forms.FileInput({"accept": ".csv,text/csv"}),
    )  # fmt: skip
    finalized = forms.BooleanField(
        label=_("This is the final bill of its month"), required=False,
        help_text=_("Only a final bill can close a month, and only another final one replaces it."),
    )  # fmt: skip

    def __init__(self, *args: Any, too_large: bool = False, **kwargs: Any) -> None:
        """Remember whether the file was too large to come in at all."""
        super().__init__(*args, **kwargs)
        if too_large:
            sentence = _("Larger than %(mib)s MiB. Read it with manage.py costs_take_bill.")
            mib = settings.UPLOAD_LARGEST >> 20
            self.fields["file"].error_messages["required"] = sentence % {"mib": mib}

    def clean_file(self) -> UploadedFile[Any]:
        """Refuse a file of nothing: it says nothing, also not that nothing was billed."""
        file: UploadedFile[Any] = self.cleaned_data["file"]
        if not file.size:
            raise forms.ValidationError(_("The file is empty."))
        return file
