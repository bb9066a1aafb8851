"""Tell webhooks of leaderboards that moved."""
