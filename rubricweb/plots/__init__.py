"""Plots as SVG: pure functions from frozen dataclasses, coloured by classes alone (static/css/plots.css)."""
