from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "rubricweb.accounts"
    label = "accounts"
