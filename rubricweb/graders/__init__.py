"""Graders: which a collection uses, its own prompts, tries on a few passages, and calibration cards."""
