from django.conf import settings
from django.urls import path

from rubricweb.sso import arrivals, factors

app_name = "sso"
urlpatterns = [
    path("start/", arrivals.start, name="start"),
    path("callback/", arrivals.callback, name="callback"),
    path("link/", arrivals.link, name="link"),
    path("unlink/", arrivals.unlink, name="unlink"),
]
if settings.SSO.has_factors:
    urlpatterns += [
        path("code/", factors.code, name="code"),
        path("factor/", factors.factor, name="factor"),
        path("factor/recovery-codes/", factors.recovery_codes, name="recovery-codes"),
        path("factor/remove/", factors.factor_remove, name="factor-remove"),
    ]
