"""Verify a grader: mark cells right or wrong with one key, the most suspicious first or at random."""
