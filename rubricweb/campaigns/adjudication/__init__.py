"""Cells where assessors differ, decided once, with the reason told to whoever is overruled."""
