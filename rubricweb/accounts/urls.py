from django.contrib.auth import views as auth_views
from django.urls import path

from rubricweb.accounts import joining, views

app_name = "accounts"
urlpatterns = [
    path("", views.account, name="account"),
    path(
        "sign-in/",
        auth_views.LoginView.as_view(template_name=views.SIGN_IN, extra_context=views.FORGOTTEN),
        name="login",
    ),
    path("session/", views.session, name="session"),
    path("sign-out/", auth_views.LogoutView.as_view(), name="logout"),
    path("password/", views.password, name="password"),
    path("password/forgotten/", views.password_forgotten, name="password-forgotten"),
    path("password/set/<uidb64>/<token>/", views.PasswordSet.as_view(), name="password-set"),
    path("density/", views.density, name="density"),
    path("close/", views.close, name="close"),
    path("join/<str:token>/", joining.join, name="join"),
    path("invitations/<int:invitation_id>/accept/", views.invitation_accept, name="invitation-accept"),
    path("invitations/<int:invitation_id>/decline/", views.invitation_decline, name="invitation-decline"),
    path("keys/", views.keys, name="keys"),
    path("keys/reset/", views.keys_reset, name="keys-reset"),
]
