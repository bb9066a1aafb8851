from django.urls import path, re_path

from rubricweb.leaderboards.public import views

urlpatterns = [
    # Longer than any name of a page under a collection of this name.
    re_path(r"^public/(?P<token>[A-Za-z0-9_-]{24,60})/$", views.public, name="public"),
    path("<slug:slug>/publish/", views.publish, name="publish"),
    path("<slug:slug>/publish/<int:board_id>/close/", views.close, name="public-close"),
]
