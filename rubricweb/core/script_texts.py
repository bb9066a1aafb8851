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
    "refused 403": _(
        "You may not rate here now, or you have signed in again. Reload the page. If that does not help, ask"
        " an organizer."
    ),
    "refused 404": _("This cell no longer exists. Discard the rating."),
    "refused 409": _(
        "You have rated this cell in another window. Discard this rating, or rate the cell again on its page."
    ),
    "refused": _("The server failed. Try again; if it fails again, tell the organizers."),
    "a rating": _("rating {rating}, {cell}"),
    "an undo": _("undo, {cell}"),
    "a rating of": _("{rating} for {item}"),
    "a comment on": _("comment on {item}"),
    "a label": _("the label “{label}”"),
    "taking back": _("taking the last label back"),
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
    # Citations.
    "labelled": _("Labelled {label}."),
    "next citation": _("The next citation."),
    "taken back": _("Taken back."),
}
