# Each command sets up its own .venv when it is missing or older than what it was made from.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PEERS  := $(VENV)/.peers
export EVERLEARN_DATA ?= $(wildcard $(CURDIR)/../shared/data)

.PHONY: help demo test check slow bench reproduce clean

help:            ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# The libraries we measure ourselves against and export to; large, so apart.
$(PEERS): $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[avalanche,bench]'
	@touch $@

demo: $(READY)   ## see it work: minutes, ends with a figure
	$(BIN)/python examples/demo.py

test: $(PEERS)   ## all everyday tests
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow"

check: $(READY)  ## format, lint, types, layers
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_safety.py src

slow: $(PEERS)   ## the long tests
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m slow

bench: $(PEERS)  ## speed and accuracy beside the real peer
	$(BIN)/python -m benchmarks

reproduce: $(READY) ## the paper's figures again, on two cores: hours, resumable
	$(BIN)/everlearn reproduce sprites --scale laptop --out docs
	$(BIN)/python -m benchmarks.results_page

clean:           ## forget the environment
	rm -rf $(VENV)
