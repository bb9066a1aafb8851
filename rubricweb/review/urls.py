from django.urls import path

from rubricweb.review import views
from rubricweb.review.flags.urls import urlpatterns as flags

app_name = "review"
urlpatterns = [
    *flags,
    path("", views.home, name="home"),
    path("collections/<slug:slug>/", views.collection, name="collection"),
    path("review/banks/<int:bank_id>/topics/<int:topic_id>/grid/", views.grid, name="grid"),
    path(
        "review/banks/<int:bank_id>/topics/<int:topic_id>/cells/<int:passage_id>/<int:item_id>/",
        views.cell,
        name="cell",
    ),
]
