from django.urls import path

from rubricweb.home import collections, home, results, search, topics, work

app_name = "home"
urlpatterns = [
    path("", home.home, name="home"),
    path("join/", home.follow_link, name="follow-link"),
    path("collections/", collections.collections, name="collections"),
    path("search/", search.search, name="search"),
    path("collections/<slug:slug>/", topics.collection, name="collection"),
    path("collections/<slug:slug>/work/", work.work, name="work"),
    path("collections/<slug:slug>/results/", results.results, name="results"),
]
