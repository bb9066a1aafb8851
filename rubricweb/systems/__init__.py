"""Runs that the workbench makes itself: rankings and generated answers, by the systems of the papers."""
