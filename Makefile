# `make demo` and `make test` are all a newcomer needs: each builds .venv first, once.
PYTHON ?= python3.11
SCALE ?= small
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
READY := $(VENV)/.ready

.PHONY: help demo test test-slow docs lint format clean
help:
	@echo "make demo [SCALE=tiny|small]  train, evaluate and report a bilingual masked LM in runs/demo"
	@echo "make test                     lint, doctests, README commands, unit and end-to-end tests"
	@echo "make docs                     the documentation as a site, in site/"
	@echo "make test-slow                the heavier checks as well (kill and resume, seeds, real data)"

# The engine is built against the pinned torch (no build isolation), and without its
# dependencies: its metadata asks for torchaudio, which plain text never imports and
# which breaks other packages where its build does not match torch.
$(READY): constraints.txt setup.py Makefile
	@echo "building $(VENV) (a few minutes, once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) torch numpy cython setuptools wheel
	@$(PIP) --use-pep517 seqeval  # asks for a tool of its own while it is built
	@$(PIP) --editable '.[dev]' --no-build-isolation
	@$(PIP) --no-build-isolation --no-deps fairseq-fixed
	@touch $(READY)

demo: $(READY)
	@$(BIN)/fairseq-xling demo --scale $(SCALE) --output runs/demo

# Two workers of one thread each: results are compared bit for bit, so threads must not vary.
# In their order, long end-to-end modules come first; reordered, one worker ends alone with them.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadscope \
	--no-loadscope-reorder --doctest-modules

test: lint
	@$(PYTEST) -m "not slow" fairseq_xling tests

test-slow: lint
	@$(PYTEST) fairseq_xling tests

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

format: $(READY)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean:
	rm -rf $(VENV) site build dist *.egg-info
