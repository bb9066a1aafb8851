from django.urls import path

from rubricweb.leaderboards.figures import views

urlpatterns = [
    path("<slug:slug>/figures/", views.figures, name="figures"),
    path("<slug:slug>/figures/file/", views.figure_page, name="figure-file"),
]
