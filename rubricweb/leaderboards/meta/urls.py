from django.urls import path

from rubricweb.leaderboards.meta import views

urlpatterns = [
    path("<slug:slug>/meta/", views.meta, name="meta"),
    path("<slug:slug>/meta/official/", views.official_add, name="official-add"),
    path("<slug:slug>/meta/official/remove/", views.official_remove, name="official-remove"),
]
