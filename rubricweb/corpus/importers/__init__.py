"""Import files into the corpus, line by line: topics, passages and pools, judgments, runs and responses.

Each importer adds what is new, leaves what is the same, refuses what contradicts, and counts all three in a
Tally. They are steps of one transaction, opened by `grades.importers.collection`.
"""
