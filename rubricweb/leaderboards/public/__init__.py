"""Boards that an organizer publishes: read without an account, by an address that nobody can guess."""
