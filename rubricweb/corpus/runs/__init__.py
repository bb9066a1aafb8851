"""The runs of a collection as its organizers manage them: description and state."""
