# Every command of the project; `make` alone lists them. Works with GNU make 3.81 and any POSIX sh.

PYTHON ?= python3
UV     ?= uv
ARGS   ?=

SHELL := /bin/sh
BIN   := .venv/bin
DOCS  := $(wildcard README.md docs/*.md)
SMOKE := smollm2-135m-instruct-q4_1

# Documents quote the output of `teto`, so it must be found first, and look the same on every terminal.
COG := env PATH="$(CURDIR)/$(BIN):$$PATH" NO_COLOR=1 COLUMNS=100 $(BIN)/cog

# The stamps live inside the environment, so they vanish with it.
LOCKED := .venv/.teto-lock
WHERE  := .venv/.teto-where
READY  := .venv/.teto-ready

# LOCKED is a copy of the lock that was installed, WHERE (written last) the folder that it was installed for:
# an interrupted environment has no WHERE, a moved checkout another one, and both are made anew.
STALE  := $(shell $(BIN)/python -c "" 2>/dev/null && test "$$(cat $(WHERE) 2>/dev/null)" = "$$(pwd -P)" || echo FORCE)

.DEFAULT_GOAL := help
.PHONY: help setup check fix test serve bench docs lock FORCE

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s  %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## make .venv from the hashed lock, with teto in it (PYTHON=python3.12 picks another Python)

$(LOCKED): requirements.lock $(STALE)
	@set -e; \
	if test -z "$(STALE)" && cmp -s requirements.lock $(LOCKED); then touch $(LOCKED); exit 0; fi; \
	if ! "$(PYTHON)" -c "" 2>/dev/null; then \
		echo "teto needs Python 3.11 or newer, and '$(PYTHON)' does not run."; \
		echo "Install one (Debian, Ubuntu: apt-get install python3 python3-venv), or name it: make setup PYTHON=python3.12"; \
		exit 1; \
	fi >&2; \
	if ! "$(PYTHON)" -c "import sys; sys.exit(sys.version_info < (3, 11))"; then \
		echo "teto needs Python 3.11 or newer, and '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1)."; \
		echo "Name another: make setup PYTHON=python3.12"; \
		exit 1; \
	fi >&2; \
	if ! "$(PYTHON)" -c "import ensurepip, venv" 2>/dev/null; then \
		version=$$("$(PYTHON)" -c "import sys; print('%d.%d' % sys.version_info[:2])"); \
		echo "'$(PYTHON)' (Python $$version) cannot make virtual environments: venv or ensurepip is missing."; \
		echo "Debian, Ubuntu: apt-get install python3-venv (or python$$version-venv). Then: make setup"; \
		exit 1; \
	fi >&2; \
	rm -f $(WHERE) $(LOCKED) $(READY); \
	echo "setup: making .venv with $$("$(PYTHON)" -V)"; \
	"$(PYTHON)" -m venv --clear .venv; \
	echo "setup: installing requirements.lock"; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock; \
	cp requirements.lock $(LOCKED); \
	pwd -P > $(WHERE)

$(READY): $(LOCKED) pyproject.toml
	@rm -f $(READY)
	@echo "setup: installing teto from this folder"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)

check: setup ## formatting, lint, types, import contracts, documents: all are run, any failure counts
	@failed=; \
	run() { \
		name=$$1; shift; \
		echo "check: $$name"; \
		"$$@" || failed="$$failed, $$name"; \
	}; \
	run "format (ruff)" $(BIN)/ruff format --check .; \
	run "lint (ruff)" $(BIN)/ruff check .; \
	run "types (mypy)" $(BIN)/mypy; \
	run "imports (import-linter)" $(BIN)/lint-imports --no-logo; \
	run "documents (cog)" $(COG) --check --diff $(DOCS); \
	if test -n "$$failed"; then echo "check: failed:$${failed#,}" >&2; exit 1; fi; \
	echo "check: all passed"

fix: setup ## format, apply the linter's safe fixes, refresh the documents
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(COG) -r $(DOCS)

docs: setup ## write the commands' present output into README.md and docs/
	$(COG) -r $(DOCS)

test: setup ## the whole test suite, on the 93 MB smoke-test weights (ARGS="-k ledger" is passed to pytest)
	$(BIN)/teto models pull $(SMOKE)
	$(BIN)/python -m pytest $(ARGS)

serve: setup ## fetch the weights once, then serve on 127.0.0.1:8377 (ARGS are passed to teto serve)
	$(BIN)/teto models pull
	$(BIN)/teto serve $(ARGS)

bench: setup ## measure this machine and teto on it, into benchmarks/results/
	$(BIN)/teto models pull
	$(BIN)/python benchmarks/serve.py $(ARGS)
	$(BIN)/python benchmarks/decisions.py

# Only versions and hashes go in: no index, no address. Pins are kept unless ARGS=--upgrade.
lock: ## write requirements.lock from pyproject.toml (ARGS=--upgrade moves every version)
	@command -v "$(UV)" >/dev/null || { \
		echo "make lock needs uv: $(PYTHON) -m pip install uv, or name it: make lock UV=path/to/uv" >&2; exit 1; }
	"$(UV)" pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--extra engine --extra charts --extra dev $(ARGS) pyproject.toml -o requirements.lock
