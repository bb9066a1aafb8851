"""The audit trail of a collection, for its organizers: who did what, and when."""
