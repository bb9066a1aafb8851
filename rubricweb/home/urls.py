from django.urls import path

from rubricweb.home import home, results, views, work

app_name = "home"
urlpatterns = [
    path("", home.home, name="home"),
    path("join/", home.follow_link, name="follow-link"),
    path("collections/", views.collections, name="collections"),
    path("search/", views.search, name="search"),
    path("collections/<slug:slug>/", views.collection, name="collection"),
    path("collections/<slug:slug>/work/", work.work, name="work"),
    path("collections/<slug:slug>/results/", results.results, name="results"),
]
