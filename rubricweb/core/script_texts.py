"""Texts of scripts. `{n}` stands for a value that the script inserts."""

from __future__ import annotations

TEXTS = {
    "leave": "Leave without saving what you wrote?",
    "loading": "Loading",
    "copied": "Copied",
    "not copied": "Selected: press Ctrl C",
    "place": "Place {place} of {n}: {item}",
    "chosen": "{n} selected",
    "one shown": "1 item shown",
    "shown": "{n} items shown",
    "opened": "{n} of {all} opened",
    # The session.
    "sign in again": "You are signed out. What you did since then is kept on this page. Sign in to save it.",
    "signed out": "Signed out",
    "signed in as": (
        "{name} signed in in another window. What you did on this page is kept. Sign in as yourself to save"
        " it, or reload the page to go on as {name}."
    ),
    "waits": "{n} of your ratings or decisions were not sent yet.",
    "send them": "Send them",
    "too large": "This text is too large to send. Shorten it, or send it as a file.",
    # What was rated, and is on its way.
    "offline": "Offline",
    "waiting": "Waiting ({why})",
    "unsent": "{n} unsent",
    "saving": "Saving…",
    "saved": "Saved {time}",
    "all saved": "Everything is saved.",
    "cut off": "No connection. {n} unsent, kept on this device.",
    "kept": "Kept on this device.",
    # What was refused, by the status of the answer.
    "refused 400": (
        "The server could not read this rating. Reload the page. If it is refused again, discard it and rate"
        " anew."
    ),
    "refused 403": "You may not do this now. Ask an organizer.",
    "refused 404": "This no longer exists. Discard it.",
    "refused 409": (
        "You did this otherwise in another window, or somebody else did. Discard this, or do it again on its"
        " page."
    ),
    "refused 413": "This text is too long. Discard it, and send a shorter one.",
    "refused": "The server failed. Try again; if it fails again, tell the organizers.",
    "a rating": "rating {rating}, {cell}",
    "an undo": "undo, {cell}",
    "a rating of": "{rating} for {item}",
    "a comment on": "comment on {item}",
    # The queue.
    "rated of": "{rated} of {n} rated",
    "item": "Item {place} of {n}.",
    "choose": "Choose a rating from 0 to 5.",
    "rated": "Rated {rating}.",
    "you": "you {rating}",
    "skipped": "Skipped.",
    "skip": "skipped",
    "left as it is": "Kept.",
    "saving comment": "Saving the comment…",
    "comment saved": "Comment saved.",
    "comment kept": "The comment is kept on this device.",
    "comment not saved": "Not saved yet: the comment is kept on this device.",
    # Cards.
    "next card": "Next one.",
    "taken back": "Taken back.",
}
