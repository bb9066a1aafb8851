from django.contrib.auth import views as auth_views
from django.urls import path

from rubricweb.accounts import account, invitations

app_name = "accounts"
urlpatterns = [
    path("", account.account, name="account"),
    path(
        "sign-in/",
        auth_views.LoginView.as_view(template_name=account.SIGN_IN, extra_context=account.FORGOTTEN),
        name="login",
    ),
    path("session/", account.session, name="session"),
    path("sign-out/", auth_views.LogoutView.as_view(), name="logout"),
    path("password/", account.password, name="password"),
    path("password/forgotten/", account.password_forgotten, name="password-forgotten"),
    path("password/set/<uidb64>/<token>/", account.PasswordSet.as_view(), name="password-set"),
    path("density/", account.density, name="density"),
    path("close/", account.close, name="close"),
    path("join/<str:token>/", invitations.join_by_link, name="join"),
    path("invitations/<int:invitation_id>/accept/", invitations.invitation_accept, name="invitation-accept"),
    path(
        "invitations/<int:invitation_id>/decline/", invitations.invitation_decline, name="invitation-decline"
    ),
    path("keys/", account.keys, name="keys"),
    path("keys/reset/", account.keys_reset, name="keys-reset"),
]
