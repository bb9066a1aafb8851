"""The assessor's queue: campaigns, their cells in order, whose turn each is, and what comes back."""
