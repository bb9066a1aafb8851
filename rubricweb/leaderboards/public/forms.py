"""How a board is published."""

from __future__ import annotations

from django import forms

from rubricweb.accounts.models import User
from rubricweb.corpus.models import Collection
from rubricweb.leaderboards.board.types import BoardError
from rubricweb.leaderboards.public import actions
from rubricweb.leaderboards.public.models import PublicBoard


class PublishForm(forms.Form):
    title = forms.CharField(
        max_length=120,
        help_text="Anybody with the link reads the board, and participants find it under Results.",
    )
    kind = forms.ChoiceField(
        label="The link shows",
        choices=[
            ("live", "the current board, whenever it is read"),
            ("frozen", "the board as it is now, unchanged for ever"),
        ],
        initial="live",
        required=False,
        help_text="Cite a frozen board in a paper: edits, imports and withdrawn runs do not change it.",
    )
    is_anonymous = forms.BooleanField(
        required=False,
        label="Hide the names of runs",
        help_text="Each run gets a pseudonym that stays the same.",
    )

    def publish(self, collection: Collection, *, query: str, by: User) -> PublicBoard | None:
        """Publish the board of `query` as a valid form says; where it is refused the form has the reason."""
        is_frozen = self.cleaned_data.pop("kind") == "frozen"
        action = actions.freeze_board if is_frozen else actions.publish_board
        try:
            return action(collection, query=query, by=by, **self.cleaned_data)
        except BoardError as error:
            self.add_error(None, str(error))
            return None
