# Each target sets up .venv when it is missing or older than its requirements.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PEERS  := $(VENV)/.peers
export EVERLEARN_DATA ?= $(wildcard $(CURDIR)/../shared/data)
# Tests start hundreds of processes that import the package; they share its compiled files.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check golden slow bench reproduce clean

help:            ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# Peers for benchmarks and exports; large, so separate.
$(PEERS): $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[avalanche,bench]'
	@touch $@

demo: $(READY)   ## train three learners; minutes, ends with a figure
	$(BIN)/python examples/demo.py

test: $(PEERS)   ## the test suite
	$(BIN)/python tools/compile_kernels.py
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not slow"

check: $(READY)  ## format, lint, types, layers, vocabulary
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_safety.py src
	$(BIN)/python tools/check_words.py src tests benchmarks examples tools docs README.md ARCHITECTURE.md CONTRIBUTING.md

golden: $(PEERS) ## golden runs of every learner with all its settings
	$(BIN)/python -m pytest -m slow tests/golden

slow: $(PEERS)   ## the long tests
	HYPOTHESIS_PROFILE=random $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "slow or hypothesis"

bench: $(PEERS)  ## benchmarks beside the peers
	$(BIN)/python -m benchmarks

reproduce: $(READY) ## the figures of Infinite dSprites on two cores: hours, resumable
	$(BIN)/everlearn reproduce sprites --scale laptop --out docs
	$(BIN)/python -m benchmarks.results_page

clean:           ## remove the environment
	rm -rf $(VENV)
