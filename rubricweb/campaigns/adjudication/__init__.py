"""Cells on which assessors disagree, decided once; the overruled assessor learns the reason."""
