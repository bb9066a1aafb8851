"""The files of the published RUBRIC Workbench (Dietz 2024), readers and writers in one place."""

from grading.formats.banks.types import BankItem, BankLine
from grading.formats.banks.workbench import read_bank, write_bank
from grading.formats.graded import read_graded, write_graded
from grading.formats.graded_records import (
    DEFAULT_PROMPT_CLASS,
    DIRECT_ITEM,
    ConfigKey,
    GradedBy,
    GradedLine,
    GradedPassage,
    ImportedGrade,
    Judgment,
    OptionPairs,
    PooledRank,
)
from grading.formats.ids import item_id, md5_of_id, text_md5
from grading.formats.official import OfficialBoard, read_official, write_official

__all__ = [
    "DEFAULT_PROMPT_CLASS",
    "DIRECT_ITEM",
    "BankItem",
    "BankLine",
    "ConfigKey",
    "GradedBy",
    "GradedLine",
    "GradedPassage",
    "ImportedGrade",
    "Judgment",
    "OfficialBoard",
    "OptionPairs",
    "PooledRank",
    "item_id",
    "md5_of_id",
    "read_bank",
    "read_graded",
    "read_official",
    "text_md5",
    "write_bank",
    "write_graded",
    "write_official",
]
