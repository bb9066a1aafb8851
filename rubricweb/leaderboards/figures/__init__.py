"""Figures of boards, each with the table that says the same."""
