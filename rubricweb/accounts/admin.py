from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.db.models import QuerySet

from rubricweb.accounts import closing
from rubricweb.accounts.models import Membership, User
from rubricweb.core.http import HtmxRequest


@admin.register(User)
class AccountAdmin(UserAdmin):  # type: ignore[type-arg]
    """Deleting a person would delete ratings, or be refused for them: accounts are closed instead."""

    actions = ("close_accounts",)

    @admin.action(description="Close accounts: ratings stay under a pseudonym", permissions=["change"])
    def close_accounts(self, request: HtmxRequest, people: QuerySet[User]) -> None:
        for person in people:
            name = person.username
            try:
                pseudonym = closing.close_account(person, by=request.user)
            except closing.CannotClose as reason:
                self.message_user(request, f"{name} is still open. {reason}", messages.ERROR)
            else:
                self.message_user(request, f"{name} is closed, and {pseudonym} now.", messages.SUCCESS)


@admin.register(Membership)
class MembershipAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("user", "collection", "role", "team")
    list_filter = ("collection", "role")
