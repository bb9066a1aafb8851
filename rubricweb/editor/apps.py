from django.apps import AppConfig


class EditorConfig(AppConfig):
    name = "rubricweb.editor"
    label = "editor"
