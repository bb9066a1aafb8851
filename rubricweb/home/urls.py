from django.urls import path

from rubricweb.home import views, work

app_name = "home"
urlpatterns = [
    path("", views.home, name="home"),
    path("collections/", views.collections, name="collections"),
    path("search/", views.search, name="search"),
    path("collections/<slug:slug>/", views.collection, name="collection"),
    path("collections/<slug:slug>/work/", work.work, name="work"),
]
