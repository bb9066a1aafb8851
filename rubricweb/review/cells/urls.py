"""One cell, under its bank and topic."""

from django.urls import path

from rubricweb.review.cells import views

CELL = "banks/<int:bank_id>/topics/<int:topic_id>/cells/<int:passage_id>/<int:item_id>/"
urlpatterns = [
    path(CELL, views.cell, name="cell"),
    path(f"{CELL}rate/", views.rate, name="rate"),
    path(f"{CELL}undo/", views.undo, name="undo"),
]
