"""Battles of answers that are made while somebody waits, to a question of theirs."""
