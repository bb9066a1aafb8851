"""A reader and a writer for each file format, in pairs; every reader raises `BadFormat` with file, line and
what was expected.
"""
