"""Figures as Plotly JSON: plain dicts and lists, no plotly import."""
