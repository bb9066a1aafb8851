"""What organizers are told of a webhook that was turned off after failures, besides what home shows them."""

from __future__ import annotations

from django.template.loader import render_to_string

from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.core.servers import is_set_up, mail
from rubricweb.webhooks.models import Endpoint


def mail_organizers(endpoint: Endpoint, why: str) -> None:
    """Mail those who have an address, where the server has a mail server. What is not sent is logged only:
    the webhook's page and home say it anyway.
    """
    held = {"memberships__collection": endpoint.collection_id, "memberships__role": Role.ORGANIZER}
    people = User.objects.filter(is_active=True, **held).exclude(email="")
    mailed = sorted(set(people.values_list("email", flat=True)))
    if not mailed or not is_set_up():
        return
    context = {"endpoint": endpoint, "collection": endpoint.collection, "why": why}
    text = render_to_string("webhooks/turned_off_mail.txt", context)
    subject = f"A webhook of {endpoint.collection} was turned off"
    for email in mailed:
        about = f"webhook {endpoint.pk}: a notice"
        mail(email, subject, text, about=about)
