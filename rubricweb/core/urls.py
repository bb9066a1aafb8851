from django.urls import path

from rubricweb.core import patterns

app_name = "core"
urlpatterns = [
    path("patterns/", patterns.patterns, name="patterns"),
]
