# Fusionscope: `make run` opens the dashboard, `make test` checks everything that needs no GPU.

PYTHON ?= python3
VENV   ?= .venv
PORT   ?= 8501
MATRIX ?= .matrix
WORKERS ?= auto
BIN    := $(VENV)/bin
PY     := $(BIN)/python
# Whole files to a worker, in the order of tests/conftest.py.
XDIST  := -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# Hundreds of processes import the same modules: without this each would compile them anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run install install-dev browser database sshd programs test suite test-fast test-matrix test-gpu test-browser lint format types samples golden tables accuracy bench clean

##@ Everyday

help:  ## Show this list
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*##/ {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/.run  ## Make the environment and open the dashboard on the shipped samples
	$(BIN)/streamlit run app.py --server.port $(PORT)

test: $(VENV)/.dev browser database sshd programs  ## Everything that needs no GPU: lint, types, tests, real browser, database and sshd
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo
	@$(MAKE) --no-print-directory --jobs=2 types suite

##@ Parts of it

suite: $(VENV)/.dev  ## All tests that need no GPU, on several workers: WORKERS=n, or two more than cores
	$(PY) -m pytest -m "not gpu and not matrix" $(XDIST)

test-fast: $(VENV)/.dev database sshd programs  ## Only the tests that need neither a browser nor a child process with torch
	$(PY) -m pytest -m "not gpu and not browser and not torch and not matrix" -q $(XDIST)

test-browser: $(VENV)/.dev browser  ## Only the real-browser tests
	$(PY) -m pytest -m browser

test-gpu: $(VENV)/.dev  ## What only a GPU can show
	$(PY) -m pytest -m gpu

test-matrix: $(VENV)/.dev  ## Captures with torch 2.1, 2.6 and the newest, 16 GB in MATRIX; writes docs/compatibility.md
	MATRIX=$(MATRIX) $(PY) -m pytest tests/matrix -m matrix
	MATRIX=$(MATRIX) $(PY) -m tests.matrix

lint: $(VENV)/.dev  ## Style, docstrings, complexity, who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo

format: $(VENV)/.dev  ## Put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Nobody asks CI's clone again: what mypy would keep for the next time takes an eighth of its own.
types: $(VENV)/.dev  ## mypy, strict on profiler_core
	$(BIN)/mypy $(if $(CI),--cache-dir=/dev/null)

mutants: $(VENV)/.dev  ## Break rules of the analyses on purpose: does a test notice each?
	$(PY) -m tests.mutants

##@ Data and numbers

samples:  ## Capture the sample traces anew on this machine's GPU
	$(PY) sample_traces/capture_samples.py

tutorial: $(VENV)/.dev browser  ## Take the pictures of docs/tutorial.md anew
	$(PY) -m tests.browser.tutorial

golden: $(VENV)/.dev  ## Accept the numbers of the golden captures as they are now
	$(PY) -m tests.golden.accept

tables: $(VENV)/.dev  ## Write the tables of docs/ that follow from declarations
	$(PY) -m tests.doc_tables

accuracy: $(VENV)/.dev  ## Judge the ledger on all pairs and rule by rule (2 min of CPU); writes docs/ledger.md
	$(PY) -m tests.analysis.ledger.judge --ablation --write

bench: $(VENV)/.dev  ## Measure against the peers; results go to docs/performance.md
	$(PY) -m benchmarks

##@ Environment

install: $(VENV)/.run  ## What the product needs
install-dev: $(VENV)/.dev  ## What the tests need as well

# Python is checked first: an old one fails with a sentence instead of a resolver's page of text.
$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Fusionscope needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements.txt | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements.txt requirements-dev.txt | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@ $(VENV)/.run

browser: $(VENV)/.dev  ## Find a Chrome or Chromium for the tests, install one where there is none
	$(PY) -m tests.browser.chromium --install

database: $(VENV)/.dev  ## Find a PostgreSQL for the tests, install one where there is none
	$(PY) -m tests.store.history.postgres --install

sshd: $(VENV)/.dev  ## Find an sshd for the tests, install one where there is none
	$(PY) -m tests.ssh_server --install

programs: $(VENV)/.dev  ## Find nginx, openssl, zsh and fish for the tests, install what is missing
	$(PY) -m tests.programs --install

clean:  ## Remove the environment and what tools left behind
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis tests/golden/actual tests/fixtures/larger
