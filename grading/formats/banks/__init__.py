"""Banks of questions and nuggets: a reader and a writer for each dialect, known by a file's content."""

from grading.formats.banks.dialects import (
    BY_NAME,
    DIALECTS,
    OF_ANSWERS,
    Loss,
    bank_files,
    documents,
    losses,
    read_bank,
    recognise_bank,
    refusals,
    warnings,
    without_twins,
    write_bank,
)
from grading.formats.banks.records import BankItem, BankLine, Dialect

__all__ = [
    "BY_NAME",
    "DIALECTS",
    "OF_ANSWERS",
    "BankItem",
    "BankLine",
    "Dialect",
    "Loss",
    "bank_files",
    "documents",
    "losses",
    "read_bank",
    "recognise_bank",
    "refusals",
    "warnings",
    "without_twins",
    "write_bank",
]
