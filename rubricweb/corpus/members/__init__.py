"""Who belongs to a collection: invitations by link, and removal."""
