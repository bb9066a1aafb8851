"""Whole collections as files: archive one, restore it, delete it."""
