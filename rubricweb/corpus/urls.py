from django.urls import path

from rubricweb.corpus import views

app_name = "corpus"
urlpatterns = [
    path("collections/<slug:slug>/events/", views.collection_events, name="events"),
]
