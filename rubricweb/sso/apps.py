from django.apps import AppConfig


class SsoConfig(AppConfig):
    name = "rubricweb.sso"
    label = "sso"

    def ready(self) -> None:
        from rubricweb.help.pages import PAGES

        PAGES["sso"] = "sign-in"
