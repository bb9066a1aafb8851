from django.urls import path

from rubricweb.help import views

app_name = "help"
urlpatterns = [
    path("", views.index, name="index"),
    path("search/", views.search, name="search"),
    path("<path:page>/", views.page, name="page"),
]
