"""Graders and a collection's own prompts: written in a form, tried on chosen passages, and saved for good."""
