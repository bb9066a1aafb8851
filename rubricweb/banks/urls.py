"""Changes to banks. `grades.editor.urls` mounts these together with the pages that show grades."""

from django.urls import path

from rubricweb.banks import views
from rubricweb.banks.drafting.urls import urlpatterns as drafts
from rubricweb.banks.ledger.views import ledger

app_name = "banks"
urlpatterns = [
    *drafts,
    path("<int:bank_id>/topics/<int:topic_id>/add/", views.item_add, name="item-add"),
    path("<int:bank_id>/items/<int:item_id>/edit/", views.item_edit, name="item-edit"),
    path("<int:bank_id>/ledger/", ledger, name="ledger"),
    path("<int:bank_id>/items/<int:item_id>/weigh/", views.item_weigh, name="item-weigh"),
    path("<int:bank_id>/items/<int:item_id>/text/", views.item_supply, name="item-supply"),
    path("<int:bank_id>/items/<int:item_id>/move/", views.item_move, name="item-move"),
    path("<int:bank_id>/items/<int:item_id>/history/", views.item_history, name="item-history"),
]
