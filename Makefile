# `make demo` and `make test` are all a newcomer needs: each builds .venv first, once.
PYTHON ?= python3.11
SCALE ?= mini
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Where nothing keeps bytecode, as in many containers, each start of a program compiles torch and
# fairseq anew: four seconds more.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-slow docs lint format dist clean
help:
	@echo "make demo [SCALE=tiny|small]  train, migrate, translate and report, in runs/demo (5 to 10 minutes)"
	@echo "make test                     lint, doctests, README commands, unit and end-to-end tests"
	@echo "make docs                     the documentation as a site, in site/"
	@echo "make test-slow [PART=kill]    the heavier checks (kill and resume, seeds, real data), in parts"
	@echo "make dist                     wheel and source distribution in dist/, checked by twine"

$(READY): constraints.txt setup.py pyproject.toml .ci/set_up.py
	@command -v $(PYTHON) > /dev/null || { echo "make: error: there is no $(PYTHON); name a Python \
	3.10 to 3.13 that you have, as in: make $(or $(MAKECMDGOALS),demo) PYTHON=python3" >&2; exit 1; }
	@$(PYTHON) .ci/set_up.py $(VENV)
	@touch $(READY)

demo: $(READY)
	@$(BIN)/fairseq-xling demo --scale $(SCALE) --output runs/demo

# Two workers of one thread each: results are compared bit for bit, so threads must not vary.
# In their order, long end-to-end modules come first; reordered, one worker ends alone with them.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadscope \
	--no-loadscope-reorder --doctest-modules

test: lint
	@$(PYTEST) -m "not slow" fairseq_xling tests
	@$(BIN)/python -m tests.slow_parts

# Each part takes about half an hour and goes on where it was interrupted; its line is in
# tests/slow.tsv.
test-slow: lint
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.slow_parts run $(PART)

# NO_MKDOCS_2_WARNING: the theme's notice about its successor, at every build.
docs: $(VENV)/.docs-ready
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "site/index.html"

$(VENV)/.docs-ready: $(READY)
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable '.[docs]' --no-build-isolation
	@touch $@

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --no-error-summary

format: $(READY)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# In environments of their own, and the wheel from the sdist, so that neither lacks anything.
PACKAGING := build/packaging
dist:
	@test -x $(PACKAGING)/bin/python || $(PYTHON) -m venv $(PACKAGING)
	@$(PACKAGING)/bin/pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt build twine
	@rm -rf dist
	@PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(PACKAGING)/bin/python -m build --quiet
	@$(PACKAGING)/bin/twine check --strict dist/*

clean:
	rm -rf $(VENV) site build dist *.egg-info
