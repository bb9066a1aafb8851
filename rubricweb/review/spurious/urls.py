from django.urls import path

from rubricweb.review.spurious import views

urlpatterns = [
    path("review/banks/<int:bank_id>/spurious/", views.suspects, name="spurious"),
    path("review/banks/<int:bank_id>/spurious/<int:item_id>/", views.suspect, name="suspect"),
    path("review/banks/<int:bank_id>/spurious/<int:item_id>/reword/", views.reword, name="suspect-reword"),
    path("review/banks/<int:bank_id>/spurious/<int:item_id>/retire/", views.retire, name="suspect-retire"),
    path("review/banks/<int:bank_id>/spurious/<int:item_id>/restore/", views.restore, name="suspect-restore"),
]
