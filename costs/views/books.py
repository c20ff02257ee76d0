"""Price books: their versions and prices, their policies, and what a change would mean."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from costs.forms.prices import PURCHASES, BookForm, PolicyForm, PriceForm
from costs.models import Period, PolicyVersion, PriceBook, PriceVersion
from costs.models.prices import Purpose, VersionState
from costs.money import add, from_minor, minor
from costs.policy import Base, Bucket, Policy
from costs.rates import Basis, Purchase
from costs.reason_texts import BASES
from costs.selectors import previews
from costs.selectors.previews import Preview
from costs.selectors.prices import switches
from costs.services import prices as service
from costs.statements import lines
from costs.times import instant, moment
from costs.views.period_words import LOOKS, month_text, payer
from costs.views.policy_words import sentences, whole_text
from costs.views.words import hours_text, money_text, rate_text
from portal.web.errors import DomainError
from portal.web.pages import page
from portal.web.wording import MINUS
from tenants import access
from tenants.models import Tenant, User

#: Bases that differ only in what was reserved and not admitted yet.
_ALIKE = (Base.HELD, Base.ADMITTED)
_STATES = {
    VersionState.DRAFT: "draft", VersionState.ACTIVE: "active", VersionState.RETIRED: "inactive",
}  # fmt: skip


def _need(request: HttpRequest, to: str = "costs.see") -> User:
    if not access.rights(request.user).platform:
        raise access.Hidden("price book", "")
    access.require(request.user, to)
    return cast(User, request.user)


def _book(request: HttpRequest, pk: int, to: str = "costs.see") -> PriceBook:
    user = _need(request)
    return access.fetch(user, PriceBook.objects.all(), to, pk=pk)


def _version(request: HttpRequest, pk: int, to: str = "costs.see") -> PriceVersion:
    user = _need(request)
    rows = PriceVersion.objects.select_related("book", "made_by", "approved_by")
    return access.fetch(user, rows, to, pk=pk)


def _crumbs(*more: tuple[str, str]) -> list[dict[str, str]]:
    links = [(_("Costs"), reverse("costs")), *more]
    return [{"label": label, "url": url} for label, url in links]


@require_safe
@login_required
def books(request: HttpRequest) -> HttpResponse:
    """List the price books with what counts in each."""
    user = _need(request)
    rows = PriceBook.objects.prefetch_related("versions", "policies").order_by("name")
    found = [
        {
            "book": each, "url": reverse("costs-book", args=[each.pk]),
            "active": next((v for v in each.versions.all() if v.state == VersionState.ACTIVE), None),
            "drafts": sum(v.state == VersionState.DRAFT for v in (*each.versions.all(), *each.policies.all())),
            "policy": _newest(each),
        }
        for each in rows
    ]  # fmt: skip
    context = {"books": found, "works": access.can(user, "prices.work"), "crumbs": _crumbs()}
    return page(request, "costs/books.html", context)


def _newest(book: PriceBook) -> str:
    active = [each for each in book.policies.all() if each.state == VersionState.ACTIVE]
    newest = max(active, key=lambda each: each.starts, default=None)
    return sentences(switches(newest))[0] if newest else ""


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new(request: HttpRequest) -> HttpResponse:
    """Make a price book."""
    user = _need(request, "prices.work")
    form = BookForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            book = service.create_book(actor=user, **form.cleaned_data)
        except DomainError as refusal:
            form.add_error(refusal.field, str(refusal.message))
        else:
            messages.success(request, _("%(book)s is made. Set its prices next.") % {"book": book})
            return redirect("costs-book", book.pk)
    context = {"form": form, "crumbs": _crumbs((_("Price books"), reverse("costs-books")))}
    return page(request, "costs/book_new.html", context, status=422 if form.errors else 200)


@require_safe
@login_required
def book(request: HttpRequest, pk: int) -> HttpResponse:
    """Show versions, policies and months of a price book, and hours without a price."""
    row = _book(request, pk)
    now = instant(timezone.now())
    policies = row.policies.select_related("made_by", "approved_by").order_by("-starts", "-pk")
    versions = row.versions.select_related("made_by", "approved_by").order_by("-number")
    context: dict[str, Any] = {
        "book": row, "works": access.can(request.user, "prices.work"),
        "versions": [(each, _STATES[VersionState(each.state)]) for each in versions],
        "policies": [(each, _STATES[VersionState(each.state)], whole_text(each)) for each in policies],
        "has_draft": any(each.state == VersionState.DRAFT for each in versions),
        "unpriced": [
            {"flavor": flavor, "basis": str(BASES[Basis(basis)]), "hours": hours_text(seconds)}
            for (flavor, basis), seconds in previews.unpriced(row, now).items()
        ],
        "periods": [
            (each, month_text(each), LOOKS[Period.State(each.state)])
            for each in row.periods.order_by("-starts")[:12]
        ],
        "crumbs": _crumbs((_("Price books"), reverse("costs-books"))),
    }  # fmt: skip
    return page(request, "costs/book.html", context)


@require_POST
@login_required
def draft(request: HttpRequest, pk: int) -> HttpResponse:
    """Begin the next version of prices."""
    row = _book(request, pk, "prices.work")
    version = service.draft(book=row, actor=cast(User, request.user))
    messages.success(request, _("Version %(n)s is a draft.") % {"n": version.number})
    return redirect("costs-version", version.pk)


# --- versions of prices ---------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def version(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the prices of a version and what they would have meant; set one in a draft."""
    posts = request.method == "POST"
    row = _version(request, pk, "prices.work" if posts else "costs.see")
    form = PriceForm(request.POST if posts else None, initial=_first(row))
    if form.is_bound and form.is_valid() and _set(request, row, form):
        messages.success(request, _("The price is set in the draft."))
        return redirect("costs-version", row.pk)
    return _shown_version(request, row, form, 422 if form.errors else 200)


def _set(request: HttpRequest, row: PriceVersion, form: PriceForm) -> bool:
    data = form.cleaned_data
    if row.state != VersionState.DRAFT:
        form.add_error(None, _("Only a draft can be changed. Begin the next version."))
        return False
    try:
        service.set_price(
            version=row, key=form.key, starts=data["starts"], rate=data["rate"],
            actor=cast(User, request.user),
        )  # fmt: skip
    except DomainError as refusal:
        form.add_error(None, str(refusal.message))
        return False
    except ValidationError as refusal:
        for name, texts in refusal.message_dict.items():
            form.add_error(name if name in form.fields else None, texts)
        return False
    return True


def _first(row: PriceVersion) -> dict[str, str]:
    at = timezone.now()
    return {"starts": f"{at.year}-{at.month:02}-01 00:00", "basis": Basis.COMMITTED.value}


def _shown_version(
    request: HttpRequest, row: PriceVersion, form: PriceForm, status: int
) -> HttpResponse:
    works = access.can(request.user, "prices.work")
    is_draft = row.state == VersionState.DRAFT
    found = previews.of_prices(row, instant(timezone.now())) if is_draft else None
    book_url = reverse("costs-book", args=[row.book_id])
    context: dict[str, Any] = {
        "version": row, "book": row.book, "look": _STATES[VersionState(row.state)], "form": form,
        "draft": is_draft, "works": works, "prices": _prices(row),
        "preview": preview(found, row.book) if found else None,
        "second": row.book.purpose == Purpose.CHARGEBACK,
        "own": request.user.pk in row.writers,
        "crumbs": _crumbs((_("Price books"), reverse("costs-books")), (row.book.name, book_url)),
    }  # fmt: skip
    return page(request, "costs/version.html", context, status=status)


def _prices(row: PriceVersion) -> list[dict[str, Any]]:
    rows = row.prices.order_by("flavor", "basis", "purchase", "starts")
    return [
        {
            "pk": each.pk, "flavor": each.flavor, "basis": str(BASES.get(Basis(each.basis), each.basis)),
            "purchase": str(PURCHASES[Purchase(each.purchase)]), "starts": each.starts,
            "rate": rate_text(each.rate) if each.rate is not None else "",
        }
        for each in rows
    ]  # fmt: skip


@require_POST
@login_required
def version_step(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a price out of a draft, or let the draft count."""
    row = _version(request, pk, "prices.work")
    actor = cast(User, request.user)
    step, _colon, which = request.POST.get("step", "").partition(":")
    try:
        if step == "drop" and which.isascii() and which.isdecimal() and len(which) < 19:
            service.drop_price(version=row, price=int(which), actor=actor)
            messages.success(request, _("The price is out of the draft."))
        elif step == "activate":
            service.activate(version=row, actor=actor)
            messages.success(request, _("Version %(n)s counts from now on.") % {"n": row.number})
        else:
            messages.error(request, _("That could not be read. Nothing was changed."))
    except DomainError as refusal:
        messages.error(request, str(refusal.message))
    return redirect("costs-version", row.pk)


# --- policies -------------------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def policy_new(request: HttpRequest, pk: int) -> HttpResponse:
    """Write a policy, look at what it would have meant, and propose it."""
    row = _book(request, pk, "prices.work")
    form = PolicyForm(request.POST if request.method == "POST" else None, initial=_today(row))
    found: Preview | None = None
    looked = False
    if form.is_bound and form.is_valid():
        if request.POST.get("step") == "propose":
            proposed = _proposed(request, row, form)
            if proposed is not None:
                return redirect("costs-policy", proposed.pk)
        else:
            looked, found = True, previews.of_policy(row, form.policy, instant(timezone.now()))
    context: dict[str, Any] = {
        "book": row, "form": form, "looked": looked,
        "preview": preview(found, row, form.policy) if found else None,
        "words": sentences(form.policy) if looked else [],
        "crumbs": _crumbs((_("Price books"), reverse("costs-books")), (row.name, reverse("costs-book", args=[row.pk]))),
    }  # fmt: skip
    return page(request, "costs/policy_new.html", context, status=422 if form.errors else 200)


def _proposed(request: HttpRequest, row: PriceBook, form: PolicyForm) -> PolicyVersion | None:
    try:
        found = service.propose_policy(
            book=row, starts=form.cleaned_data["starts"], policy=form.policy,
            actor=cast(User, request.user),
        )  # fmt: skip
    except ValidationError as refusal:
        form.add_error(None, refusal)
        return None
    messages.success(request, _("The policy is proposed. It counts when it is activated."))
    return found


def _today(row: PriceBook) -> dict[str, Any]:
    """Fill a form with what holds now, from the next month on."""
    newest = previews.newest_policy(row)
    at = timezone.now()
    following = previews.last_month(instant(at)).moved(2)
    found = {"starts": f"{following}-01 00:00"}
    if newest is None:
        return {**found, "base": "committed", "borrow": "50", "credit": "yes", "rest": "platform",
                "shared": "cost", "unused": "platform", "lost": "nobody", "failures": "no",
                "lost_minutes": 60}  # fmt: skip
    percent = f"{(newest.borrow * 100).normalize():f}"
    return {
        **found, "base": newest.base, "borrow": percent, "credit": "yes" if newest.credit else "no",
        "rest": newest.rest, "shared": newest.shared, "unused": newest.unused,
        "lost": newest.lost, "failures": "yes" if newest.failures else "no",
        "lost_minutes": newest.lost_minutes,
    }  # fmt: skip


def _policy(request: HttpRequest, pk: int, to: str = "costs.see") -> PolicyVersion:
    user = _need(request)
    rows = PolicyVersion.objects.select_related("book", "made_by", "approved_by")
    return access.fetch(user, rows, to, pk=pk)


@require_safe
@login_required
def policy(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a policy in words, and what it would have meant for last month."""
    row = _policy(request, pk)
    is_draft = row.state == VersionState.DRAFT
    now = instant(timezone.now())
    found = previews.of_policy(row.book, switches(row), now) if is_draft else None
    context: dict[str, Any] = {
        "policy": row, "book": row.book, "look": _STATES[VersionState(row.state)],
        "words": whole_text(row), "draft": is_draft, "works": access.can(request.user, "prices.work"),
        "preview": preview(found, row.book, switches(row)) if found else None,
        "second": row.book.purpose == Purpose.CHARGEBACK, "own": row.made_by_id == request.user.pk,
        "crumbs": _crumbs((_("Price books"), reverse("costs-books")), (row.book.name, reverse("costs-book", args=[row.book_id]))),
    }  # fmt: skip
    return page(request, "costs/policy.html", context)


@require_POST
@login_required
def policy_activate(request: HttpRequest, pk: int) -> HttpResponse:
    """Let a policy count from its date."""
    row = _policy(request, pk, "prices.work")
    try:
        service.activate_policy(version=row, actor=cast(User, request.user))
    except DomainError as refusal:
        messages.error(request, str(refusal.message))
    else:
        messages.success(request, _("The policy counts from its date on."))
    return redirect("costs-policy", row.pk)


# --- previews in words ----------------------------------------------------------------------------


def preview(found: Preview, book: PriceBook, policy: Policy | None = None) -> dict[str, Any]:
    """Return a preview as a table whose columns add up to the same bill.

    ``policy``: the one that is looked at; without, it is about prices.
    """
    names = dict(Tenant.objects.values_list("slug", "display_name"))
    money = book.currency
    before = _settled({row.payer: row.now for row in found.rows}, money)
    after = _settled({row.payer: row.then for row in found.rows}, money)
    order = sorted(after, key=lambda key: (key.startswith("*"), -after[key], key))
    starts = moment(found.month.span.starts).date()
    return {
        "month": date_format(starts, "F Y"), "by_day": found.by_day, "billed": found.billed,
        "currency": money, "total": money_text(add(list(after.values())), money),
        "was": money_text(add(list(before.values())), money),
        "change": _signed(add(list(after.values())) - add(list(before.values())), money),
        "unpriced": hours_text(found.unpriced) if found.unpriced else "",
        "written": found.written, "closed": found.closed, "prices": policy is None,
        "same": policy is not None and policy.base in _ALIKE and not found.reserved,
        "reserved": hours_text(found.reserved) if policy and policy.base in _ALIKE else "",
        "rows": [
            _preview_row(names, key, before[key], after[key], found, money)
            for key in order
            if before[key] or after[key]
        ],
    }  # fmt: skip


def _settled(exact: dict[str, Fraction], currency: str) -> dict[str, Decimal]:
    """Round a column so that its parts are its sum, as a statement does."""
    whole = minor(sum(exact.values(), Fraction(0)), currency)
    return {
        key: from_minor(count, currency) for key, count in lines(exact, whole, currency).items()
    }


def _preview_row(
    names: dict[str, str], key: str, now: Decimal, then: Decimal, found: Preview, currency: str
) -> dict[str, Any]:
    if key == previews.RECOVERY:
        label, note = _("Not recovered"), _("bill less what the list brings in")
    else:
        label, note = payer(names.get(key, key), key if key.startswith("*") else "")
    if key == Bucket.UNALLOCATED and found.unmeasured:
        note = _(
            "%(amount)s of hours whose use was not measured: nobody can be charged with it"
        ) % {"amount": money_text(found.unmeasured, currency)}
    return {
        "label": label, "note": note, "now": money_text(now, currency),
        "then": money_text(then, currency), "difference": _signed(then - now, currency),
        "more": then > now, "less": then < now,
    }  # fmt: skip


def _signed(amount: Decimal, currency: str) -> str:
    text = money_text(amount, currency)
    return text if text.startswith(MINUS) else f"+{text}" if amount else text
