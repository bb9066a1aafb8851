"""The texts of scripts, in the language of the page. `{n}` stands for a value that the script puts there."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

TEXTS = {
    "leave": _("Leave without saving what you wrote?"),
    "loading": _("Loading"),
    "copied": _("Copied"),
    "not copied": _("Selected: press Ctrl C"),
    "place": _("Place {place} of {n}: {item}"),
    "chosen": _("{n} selected"),
    "one shown": _("1 item shown"),
    "shown": _("{n} items shown"),
    "opened": _("{n} of {all} opened"),
    # The session.
    "sign in again": _("You are signed out. What you did since is kept on this page. Sign in to save it."),
    "signed out": _("Signed out"),
    "signed in as": _(
        "{name} signed in in another window. What you did on this page is kept. Sign in as yourself to save"
        " it, or reload the page to go on as {name}."
    ),
    "waits": _("{n} of your ratings or decisions were not sent yet."),
    "send them": _("Send them"),
    "too large": _("This text is too large to be sent. Shorten it, or send it as a file."),
    # What was rated, and is on its way.
    "offline": _("Offline"),
    "waiting": _("Waiting ({why})"),
    "unsent": _("{n} unsent"),
    "saving": _("Saving…"),
    "saved": _("Saved {time}"),
    "all saved": _("Everything is saved."),
    "cut off": _("No connection. {n} unsent, kept on this device."),
    "kept": _("Kept on this device."),
    # What was refused, by the status of the answer.
    "refused 400": _(
        "The server could not read this rating. Reload the page. If it is refused again, discard it and rate"
        " anew."
    ),
    "refused 403": _("You may not do this now. Ask an organizer."),
    "refused 404": _("This no longer exists. Discard it."),
    "refused 409": _(
        "You did this otherwise in another window, or somebody else did. Discard this, or do it again on its"
        " page."
    ),
    "refused 413": _("This text is too long. Discard it, and send a shorter one."),
    "refused": _("The server failed. Try again; if it fails again, tell the organizers."),
    "a rating": _("rating {rating}, {cell}"),
    "an undo": _("undo, {cell}"),
    "a rating of": _("{rating} for {item}"),
    "a comment on": _("comment on {item}"),
    # The queue.
    "rated of": _("{rated} of {n} rated"),
    "item": _("Item {place} of {n}."),
    "choose": _("Choose a rating from 0 to 5."),
    "rated": _("Rated {rating}."),
    "you": _("you {rating}"),
    "skipped": _("Skipped."),
    "skip": _("skipped"),
    "left as it is": _("Kept."),
    "saving comment": _("Saving the comment…"),
    "comment saved": _("Comment saved."),
    "comment kept": _("The comment is kept on this device."),
    "comment not saved": _("Not saved yet: the comment is kept on this device."),
    # Cards.
    "next card": _("The next one."),
    "taken back": _("Taken back."),
}
