"""Forms: shape only. Rules stand in ``kube.rules`` and in the services, once."""

from tenants.forms.quota import QuotaRequestForm
from tenants.forms.session import SignInForm

__all__ = ["QuotaRequestForm", "SignInForm"]
