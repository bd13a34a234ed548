# Two commands matter: `make reproduce` and `make test`. `make help` lists the rest.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= $(shell command -v python3.11 || command -v python3)
OUT ?= runs/reproduce
VENV := .venv
BIN := $(VENV)/bin
# Python compiles what it imports; compiling all fifteen thousand files takes a minute more. A shell
# that forbids it to keep what it compiled would have each process of ours parse all of JAX again.
unexport PYTHONDONTWRITEBYTECODE
# What mypy knows of JAX, PyTorch and the rest serves every checkout; it compares contents itself.
export MYPY_CACHE_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/bennafusi/mypy
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile --constraint constraints.txt

.PHONY: help reproduce claims test pytest lint format docs bench faults packages clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F '\t' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "bennafusi needs Python 3.11 or newer; found $(PYTHON). Set PYTHON=/path/to/python3.11"; exit 1; }
	@echo "setting up $(VENV) (first time only)"
	@$(PYTHON) -m venv $(VENV)

# A stamp per set of packages: a second call of make installs nothing.
$(VENV)/.core: $(VENV)/bin/python pyproject.toml constraints.txt
	@$(PIP) --editable '.[experiments]'
	@touch $@

$(VENV)/.docs: $(VENV)/.core
	@$(PIP) --editable '.[docs]'
	@touch $@

# torch first and by its exact version, so that no other package pulls in a different build of it.
# Then all the rest in one go, which takes half as long as set by set.
$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	@$(PIP) torch
	@$(PIP) --editable '.[dev,torch,dask,docs]'
	@touch $(VENV)/.core $(VENV)/.docs $@

# The report is tested in a real browser. Where there is none and none can be had, its tests are
# skipped and say so; CI=true makes that a failure.
$(VENV)/.browser: $(VENV)/.dev
	@for name in chromium chromium-browser google-chrome; do command -v $$name > /dev/null && found=1; done; \
	if [ -z "$${found:-}" ] && [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		echo "installing chromium (first time only)"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
			--no-install-recommends chromium > /dev/null; } || echo "chromium could not be installed"; \
	fi
	@touch $@

reproduce: $(VENV)/.core ## set up, run the main job, leave a report
	@$(BIN)/bennafusi run memory grid-switch online-cartpole two-task --seeds 2 --seed 10 --out $(OUT)

claims: $(VENV)/.core ## every experiment of the paper at quick scale, and its claims (hours)
	@$(BIN)/bennafusi run memory grid-switch online-cartpole two-task three-task online-catcher \
		epsilon-floor replay-size epoch-length ablation --seeds 2 --seed 10 --out runs/claims

# Side by side: types are checked on one core.
test: $(VENV)/.dev $(VENV)/.browser ## set up, then lint, format check, types, doctests and all tests
	@$(MAKE) --no-print-directory --jobs=2 lint pytest

pytest: $(VENV)/.dev
	@$(BIN)/python -m pytest

lint: $(VENV)/.dev ## ruff, format check and strict types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(VENV)/.dev ## rewrite the code in the house format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(VENV)/.docs ## build the documentation into site/; a broken link or a missing name fails
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet --site-dir site
	@echo "open site/index.html (its search needs a server: python3 -m http.server --directory site)"

# A goal that is missed ends it, but for those of rivals: docs/rivals.md says which miss theirs.
bench: $(VENV)/.dev ## measure chains, agents and rivals against their peers (one core)
	@$(BIN)/python benchmarks/synapse.py
	@$(BIN)/python benchmarks/grid.py
	@$(BIN)/python benchmarks/deep.py
	-@$(BIN)/python benchmarks/rivals.py
	@$(BIN)/python benchmarks/placing.py
	@$(BIN)/python benchmarks/minatar.py

# All that the table of faults in docs/runs.md names; a test compares the two.
FAULTS := tests/runs tests/test_files.py tests/test_grid_faults.py tests/test_cli.py \
	tests/test_cli_engines.py tests/test_cli_sinks.py tests/test_cli_sweep.py \
	tests/experiments/test_registry.py tests/experiments/test_resume_law.py \
	tests/report/test_browser.py tests/synapse/test_tools.py tests/synapse/test_torch.py \
	tests/synapse/test_torch_tools.py

faults: $(VENV)/.dev $(VENV)/.browser ## kill, damage and mix up runs at random, for an hour
	@BENNAFUSI_FAULT_ROUNDS=100 $(BIN)/python -m pytest $(FAULTS) --timeout 1200

packages: $(VENV)/.dev ## build wheel and sdist, install every extra in a fresh environment, try it
	@$(BIN)/python tools/packages.py

clean: ## remove the environment and every cache
	@rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis site
