from django.urls import path

from rubricweb.review import saved_views
from rubricweb.review.bulk.urls import urlpatterns as bulk
from rubricweb.review.cells.urls import urlpatterns as cells
from rubricweb.review.flags.urls import urlpatterns as flags
from rubricweb.review.problems import views as problems
from rubricweb.review.responses.urls import urlpatterns as responses
from rubricweb.review.verify.urls import urlpatterns as verify

app_name = "review"
urlpatterns = [
    *bulk,
    *cells,
    path("review/<slug:slug>/views/", saved_views.view_save, name="view-save"),
    path("review/<slug:slug>/views/<int:view_id>/drop/", saved_views.view_drop, name="view-drop"),
    *verify,
    *flags,
    *responses,
    path("collections/<slug:slug>/problems/", problems.problems, name="problems"),
    path("collections/<slug:slug>/problems/near-duplicates/", problems.search, name="problems-search"),
]
