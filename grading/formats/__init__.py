"""A reader and a writer for each file format, in pairs.

Every reader raises `BadFormat` with file, line and what was expected.
"""
