from django.urls import path

from rubricweb.home import views

app_name = "home"
urlpatterns = [
    path("", views.home, name="home"),
    path("banks/<int:bank_id>/topics/<int:topic_id>/rail/", views.rail, name="rail"),
    path("search/", views.search, name="search"),
    path("collections/<slug:slug>/", views.collection, name="collection"),
]
