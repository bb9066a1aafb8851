from django.urls import path

from rubricweb.core import views

app_name = "core"
urlpatterns = [
    path("patterns/", views.patterns, name="patterns"),
]
