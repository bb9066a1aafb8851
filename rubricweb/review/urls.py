from django.urls import path

from rubricweb.review import saved_views, views
from rubricweb.review.bulk.urls import urlpatterns as bulk
from rubricweb.review.cells.urls import urlpatterns as cells
from rubricweb.review.duplicates.urls import urlpatterns as duplicates
from rubricweb.review.flags.urls import urlpatterns as flags
from rubricweb.review.responses.urls import urlpatterns as responses
from rubricweb.review.spurious.urls import urlpatterns as spurious
from rubricweb.review.uncovered.urls import urlpatterns as uncovered
from rubricweb.review.verify.urls import urlpatterns as verify

app_name = "review"
urlpatterns = [
    path("review/<slug:slug>/", views.overview, name="overview"),
    *bulk,
    *cells,
    path("review/<slug:slug>/views/", saved_views.view_save, name="view-save"),
    path("review/<slug:slug>/views/<int:view_id>/drop/", saved_views.view_drop, name="view-drop"),
    *verify,
    *duplicates,
    *flags,
    *responses,
    *spurious,
    *uncovered,
]
