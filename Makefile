PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help run test test-long lint bench docs lock clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(READY)  ## Reproduce every number of the paper; the page is reproduction/index.html
	$(BIN)/arcbandit reproduce --out reproduction

test: $(READY)  ## Test everything, then the kernels bounds-checked and uncompiled
	$(BIN)/python -m pytest
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest tests/kernels
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/kernels

test-long: $(READY)  ## Test what was promised for many thousand random cases on all of them
	ARCBANDIT_LONG_TESTS=1 $(BIN)/python -m pytest tests/test_right_or_refused.py tests/policies/test_restored_runs.py

lint: $(READY)  ## Check style, types and import directions
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)  ## Time the frozen workloads
	$(BIN)/python -m benchmarks

docs: $(READY)  ## Regenerate the reference page of the command line
	$(BIN)/python -m docs.generate_cli

lock:  ## Regenerate requirements.lock
	@set -e; tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
	$(PYTHON) -m venv "$$tools"; "$$tools/bin/pip" install --quiet uv; \
	printf 'hatchling\neditables\n' | "$$tools/bin/uv" pip compile --quiet --universal --upgrade \
		--python-version 3.11 --no-emit-index-url --no-annotate --custom-compile-command "make lock" \
		--all-extras \
		--output-file requirements.lock pyproject.toml -

clean:  ## Remove the environment, caches and build output
	rm -rf $(VENV) reproduction build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml requirements.lock
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@
