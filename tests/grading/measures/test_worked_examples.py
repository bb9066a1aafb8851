"""The examples in the docstrings are run."""

import doctest
import importlib
import pkgutil

import pytest

import grading.figures
import grading.formats
import grading.measures

MODULES = [
    f"{package.__name__}.{module.name}"
    for package in (grading.figures, grading.formats, grading.measures)
    for module in pkgutil.iter_modules(package.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
