"""Verify a grader: cells with the most suspicious first or in random order, marked right or wrong with one
key.
"""
