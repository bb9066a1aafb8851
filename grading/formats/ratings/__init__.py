"""Ratings that people gave in other tools: a file of this folder for each."""
