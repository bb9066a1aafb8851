"""The assessor's queue: campaigns, their cells in order, and the turns in which people rate them."""
