"""Published tables, recomputed: one module a table, each with the printed numbers and where its files are.

`make reproduce` runs all, `make reproduce TABLES=support_rag24 DATA=folder` one of them.
"""
