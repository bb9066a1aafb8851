"""How sure are we: a board beside people's judgments and ratings, in five pictures."""
