from django.apps import AppConfig


class ReviewConfig(AppConfig):
    name = "rubricweb.review"
    label = "review"
