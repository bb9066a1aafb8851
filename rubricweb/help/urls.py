from django.urls import path

from rubricweb.help import pages

app_name = "help"
urlpatterns = [
    path("", pages.index, name="index"),
    path("search/", pages.search, name="search"),
    path("<path:page>.md", pages.source, name="source"),
    path("<path:page>/", pages.page, name="page"),
]
