from django.urls import path

from rubricweb.review import views
from rubricweb.review.bulk.urls import urlpatterns as bulk
from rubricweb.review.cells.urls import urlpatterns as cells
from rubricweb.review.flags.urls import urlpatterns as flags
from rubricweb.review.overview.urls import urlpatterns as overview
from rubricweb.review.spurious.urls import urlpatterns as spurious
from rubricweb.review.uncovered.urls import urlpatterns as uncovered
from rubricweb.review.verify.urls import urlpatterns as verify
from rubricweb.review.views_saved.urls import urlpatterns as saved_views

app_name = "review"
urlpatterns = [
    *overview,
    *bulk,
    *cells,
    *saved_views,
    *verify,
    *flags,
    *spurious,
    *uncovered,
    path("review/banks/<int:bank_id>/topics/<int:topic_id>/grid/", views.grid, name="grid"),
]
