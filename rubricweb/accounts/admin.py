from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from rubricweb.accounts import passwords, roles
from rubricweb.accounts.actions import (
    CannotClose,
    LastOrganizer,
    close_account,
    others_who_organize,
    remove_member,
    require_other_organizer,
    set_role,
)
from rubricweb.accounts.models import Membership, User
from rubricweb.core.http import HtmxRequest


@admin.register(User)
class AccountAdmin(UserAdmin):  # type: ignore[type-arg]
    """Deleting a person would delete ratings, or be refused for them: accounts are closed instead."""

    actions = ("close_accounts",)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002
        """Set a password as Django does; what the old one made ends with it."""
        response: HttpResponse = super().user_change_password(request, id, form_url)
        if request.method == "POST" and response.status_code == 302:
            passwords.note_reset(User.objects.get(pk=id))
        return response

    @admin.action(description="Close accounts: ratings stay under a pseudonym", permissions=["change"])
    def close_accounts(self, request: HtmxRequest, accounts: QuerySet[User]) -> None:
        for person in accounts:
            name = person.username
            try:
                pseudonym = close_account(person, by=request.user)
            except CannotClose as reason:
                self.message_user(request, f"{name} is still open. {reason}", messages.ERROR)
            else:
                self.message_user(request, f"{name} is closed, and {pseudonym} now.", messages.SUCCESS)


class MembershipForm(forms.ModelForm):  # type: ignore[type-arg]
    def clean(self) -> dict[str, Any]:
        fields = super().clean() or self.cleaned_data
        if self.instance.pk and fields.get("role") != roles.Role.ORGANIZER:
            try:
                require_other_organizer(self.instance.collection, self.instance.user)
            except LastOrganizer as reason:
                raise ValidationError(str(reason)) from reason
        return fields


@admin.register(Membership)
class MembershipAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """An administrator makes people members at once; organizers ask them."""

    form = MembershipForm
    list_display = ("user", "collection", "role", "team")
    list_filter = ("collection", "role")
    actions = None

    def get_readonly_fields(self, request: HttpRequest, obj: Membership | None = None) -> tuple[str, ...]:
        return ("user", "collection") if obj else ()

    def save_model(self, request: HtmxRequest, obj: Membership, form: Any, change: bool) -> None:  # type: ignore[override]
        made = set_role(obj.user, obj.collection, role=roles.Role(obj.role), by=request.user, team=obj.team)
        obj.pk = made.pk

    def has_delete_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        is_last = (
            obj and obj.role == roles.Role.ORGANIZER and not others_who_organize(obj.collection, obj.user)
        )
        return super().has_delete_permission(request, obj) and not is_last

    def delete_model(self, request: HtmxRequest, obj: Membership) -> None:  # type: ignore[override]
        remove_member(obj, by=request.user)
