"""Every address, an include an app."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("rubricweb.core.patterns")),
    path("help/", include("rubricweb.help.urls")),
    path("", include("rubricweb.corpus.urls")),
    path("", include("rubricweb.webhooks.urls")),
    path("accounts/", include("rubricweb.accounts.urls")),
    path("", include("rubricweb.editor.urls")),
    path("collections/", include("rubricweb.grades.urls")),
    path("collections/", include("rubricweb.graders.urls")),
    path("", include("rubricweb.imports.urls")),
    path("", include("rubricweb.home.urls")),
    path("", include("rubricweb.campaigns.urls")),
    path("", include("rubricweb.review.urls")),
    path("", include("rubricweb.arena.urls")),
    path("", include("rubricweb.submissions.urls")),
    path("", include("rubricweb.systems.urls")),
    path("", include("rubricweb.support.urls")),
    path("", include("rubricweb.leaderboards.urls")),
    path("collections/", include("rubricweb.exports.urls")),
    path("", include("rubricweb.releases.urls")),
    path("", include("rubricweb.archives.urls")),
    path("", include("rubricweb.api.urls")),
    path("admin/", admin.site.urls),
]
if settings.SSO.is_on:
    urlpatterns.append(path("sso/", include("rubricweb.sso.urls")))

handler400 = "rubricweb.core.errors.bad_request"
handler403 = "rubricweb.core.errors.forbidden"
handler404 = "rubricweb.core.errors.not_found"
handler500 = "rubricweb.core.errors.server_error"
