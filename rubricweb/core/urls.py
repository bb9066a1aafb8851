from django.urls import path

from rubricweb.core import views

app_name = "core"
urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("patterns/", views.patterns, name="patterns"),
]
