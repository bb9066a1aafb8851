"""All addresses under /banks/: changes from `banks`, and the editor's pages, which show grades, from here."""

from django.urls import path

from rubricweb.banks.urls import urlpatterns as changes
from rubricweb.grades.views import answer_key, bank, duplicates, trial, versions

app_name = "banks"
urlpatterns = [
    *changes,
    path("<int:bank_id>/topics/<int:topic_id>/", bank.topic, name="topic"),
    path("<int:bank_id>/topics/<int:topic_id>/trial/", trial.trial, name="trial"),
    path("<int:bank_id>/topics/<int:topic_id>/duplicates/", duplicates.duplicates, name="duplicates"),
    path("<int:bank_id>/versions/", versions.bank_versions, name="versions"),
    path("<int:bank_id>/versions/diff/", versions.version_diff, name="version-diff"),
    path("<int:bank_id>/versions/<int:number>/restore/", versions.version_restore, name="version-restore"),
    path("<int:bank_id>/items/<int:item_id>/", bank.item, name="item"),
    path("<int:bank_id>/items/<int:item_id>/answer-key/", answer_key.item_answer_key, name="item-answer-key"),
    path("<int:bank_id>/items/<int:item_id>/retire/", bank.item_retire, name="item-retire"),
    path("<int:bank_id>/items/<int:item_id>/restore/", bank.item_restore, name="item-restore"),
]
