from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from rubricweb.accounts.models import Membership, User

admin.site.register(User, UserAdmin)


@admin.register(Membership)
class MembershipAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("user", "collection", "role", "team")
    list_filter = ("collection", "role")
