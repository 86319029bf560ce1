# Each target sets up .venv when it is missing or older than its requirements (tools/install.py).
# TORCH=cuda installs the CUDA build of torch also on a machine without a GPU, TORCH=cpu the CPU build with one.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PINNED := pyproject.toml requirements.lock tools/install.py
# What is installed: everlearn; what its checks and tests need; peers for benchmarks and exports, which are large.
USER   := $(VENV)/.user
READY  := $(VENV)/.ready
PEERS  := $(VENV)/.peers
KERNELS := $(VENV)/.kernels
SITE   := $(VENV)/.site
BUILD  := $(VENV)/.build
EXTRAS := export,metrics,ray,slurm,studio
LOWEST := .venv-lowest
FRESH  := .venv-lock
WORDS  := src tests benchmarks examples tools docs notebooks README.md ARCHITECTURE.md CONTRIBUTING.md
PYTHONS ?= 3
export EVERLEARN_DATA ?= $(wildcard $(CURDIR)/../shared/data)
# Tests start hundreds of processes that import the package; they share its compiled files.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check golden slow more notebooks docs dist lowest pythons lock bench reproduce clean

help:            ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(USER): $(PINNED)
	@$(PYTHON) tools/install.py $(VENV)
	@touch $@

$(READY): $(PINNED)
	@$(PYTHON) tools/install.py $(VENV) --extras $(EXTRAS) --groups dev
	@touch $@ $(USER)

$(PEERS): $(READY)
	@$(PYTHON) tools/install.py $(VENV) --extras avalanche --groups bench
	@touch $@

$(SITE): $(PINNED)
	@$(PYTHON) tools/install.py $(VENV) --groups docs
	@touch $@ $(USER)

$(BUILD): $(PINNED)
	@$(PYTHON) tools/install.py $(VENV) --groups dist
	@touch $@ $(USER)

demo: $(USER)    ## train three learners; minutes, ends with a figure
	@$(BIN)/python examples/demo.py

$(KERNELS): $(PEERS) tools/compile_kernels.py $(shell grep -rl --include=*.py "shapes.jit import" src) src/everlearn/shapes/jit.py
	$(BIN)/python tools/compile_kernels.py
	@touch $@

test: $(KERNELS) ## the test suite
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m "not slow and not more"

check: $(READY)  ## format, lint, types (also for macOS and Windows), layers, vocabulary, links
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/python tools/check_platforms.py src
	$(BIN)/lint-imports
	$(BIN)/python tools/check_safety.py src
	$(BIN)/python tools/check_words.py $(WORDS)
	$(BIN)/python tools/check_docs.py

golden: $(PEERS) ## golden runs of every learner with all its settings
	$(BIN)/python -m pytest -m "more or not more" tests/golden

notebooks: $(READY) ## execute the notebooks
	$(BIN)/python -m pytest -n 2 -m more tests/test_notebooks.py

more: $(PEERS)   ## longer tests that CI runs, too: golden runs with all settings, notebooks, an outside package, Ray, Slurm jobs
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder -m "more and not slow" tests

slow: $(PEERS)   ## the long tests
	HYPOTHESIS_PROFILE=random $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "slow or more or hypothesis"

docs: $(SITE)    ## the documentation as a site in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The documentation is $(CURDIR)/site/index.html"

dist: $(BUILD)   ## wheel and source distribution in dist/, checked
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist . > /dev/null
	$(BIN)/twine check --strict dist/*

# Another version of numba would remove the compiled kernels of a `make test` at the same time.
lowest: export NUMBA_CACHE_DIR = $(LOWEST)/numba
lowest: $(PINNED) ## a few tests with the lowest allowed versions, in an environment of their own
	rm -rf $(LOWEST)
	@$(PYTHON) tools/install.py $(LOWEST) --groups pytest --lowest
	$(LOWEST)/bin/python -m pytest -q -W default --disable-warnings -p no:cacheprovider tests/test_files.py tests/test_rng.py \
	  tests/test_serialization.py tests/test_settings.py tests/runs/test_loop.py tests/reports/test_figures.py
	$(LOWEST)/bin/python -c "from everlearn.streams import sprites; assert sprites().fingerprint() == '9a5ea610f44c7e84'"

pythons: $(READY) ## the same stream from newer versions of Python, or from the one in PYTHONS
	$(BIN)/python -m pytest -m slow tests/test_other_pythons.py -k "$(PYTHONS)"

lock:            ## write requirements.lock: the newest versions that constraints.txt allows
	rm -rf $(FRESH)
	@$(PYTHON) tools/install.py $(FRESH) --constraints constraints.txt \
	  --extras avalanche,$(EXTRAS) --groups bench,dev,dist,docs
	echo "# Versions of CI, with $$($(FRESH)/bin/python --version); written by make lock" > requirements.lock
	$(FRESH)/bin/pip freeze --exclude-editable | sed "s/+cpu//" >> requirements.lock

bench: $(PEERS)  ## benchmarks beside the peers
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.readme

reproduce: $(USER) ## the figures of Infinite dSprites on two cores: hours, resumable
	$(BIN)/everlearn reproduce sprites --scale laptop --out docs
	$(BIN)/python -m benchmarks.results_page

clean:           ## remove environments and built files
	rm -rf $(VENV) $(LOWEST) $(FRESH) site dist
