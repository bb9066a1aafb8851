from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "rubricweb.accounts"
    label = "accounts"

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in

        from rubricweb.accounts.passwords import note_last_login

        user_logged_in.disconnect(dispatch_uid="update_last_login")
        user_logged_in.connect(note_last_login, dispatch_uid="note_last_login")
