from django.urls import path

from rubricweb.corpus import views

app_name = "corpus"
urlpatterns = [
    path("collections/<slug:slug>/events/", views.collection_events, name="events"),
    path("collections/<slug:slug>/settings/", views.settings, name="settings"),
    path("collections/<slug:slug>/members/", views.member, name="member"),
]
