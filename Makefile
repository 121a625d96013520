# Two commands to know: `make demo` and `make test`. Everything is installed into this directory and ~/.cache/catchment.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= $(shell command -v python3 || command -v python)
UV := .tools/bin/uv
RUN := .venv/bin
INSTALL := $(UV) pip install --quiet --compile-bytecode --python $(RUN)/python \
	--require-hashes --build-constraints requirements-build.txt -r requirements.txt
PYTEST := $(RUN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: help setup demo demo-engines demo-live test test-slow test-all soak check format schemas lock wheel bench clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.ready ## Install everything the project needs (done by the other targets)

$(UV): requirements-uv.txt
	@tools/prerequisites "$(PYTHON)"
	@"$(PYTHON)" -m venv .tools
	@.tools/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.txt
	@touch $@

.venv/.ready: $(UV) requirements.txt requirements-build.txt pyproject.toml
	@tools/prerequisites "$(PYTHON)"
	@echo "setting up .venv (once; Spark is a large download)" >&2
	@$(UV) venv --quiet --clear --python "$(PYTHON)" .venv
	@# First without the network: an index that says nothing about caching makes uv fetch and build all of Spark again.
	@$(INSTALL) --offline 2>/dev/null || $(INSTALL)
	@$(UV) pip install --quiet --python $(RUN)/python --no-deps --build-constraints requirements-build.txt -e .
	@$(RUN)/python -m compileall -q src
	@touch $@

demo: setup ## Two jobs write one Iceberg table while a reader queries it
	@$(RUN)/catchment demo

demo-engines: setup ## Engines of Spark 3.5 and 4.1 write one lake at the same time
	@$(RUN)/python examples/many-engines/demo.py

demo-live: setup ## Streams append to today, batches replace yesterday, a compaction runs beside them
	@$(RUN)/python examples/day-and-night/demo.py

test: setup ## Run the suite, without what takes long
	@$(PYTEST) -m "not slow"

test-slow: setup ## Run what takes long: kills, stores, long matrices, of the longest some points
	@$(PYTEST) -m "slow and not exhaustive" --timeout=1200

test-all: setup ## Run every test there is, with every point of every matrix (more than an hour)
	@$(PYTEST) --timeout=1200

soak: setup ## Write thousands of times from engines that are killed at random: on a metastore in trouble, beside streams, and into Paimon
	@$(RUN)/python -m tests.soak
	@$(RUN)/python -m tests.soak --mixed --writes 1000 --kills 12
	@$(RUN)/python -m tests.soak --format paimon --writes 400 --kills 6

check: setup ## Format, lint, import fences, types, names of formats, stale schemas
	@$(RUN)/ruff format --check .
	@$(RUN)/ruff check .
	@$(RUN)/lint-imports
	@$(RUN)/mypy
	@tools/check-names
	@tools/check-schemas

format: setup ## Format the code and mend what the linter can
	@$(RUN)/ruff format .
	@$(RUN)/ruff check --fix .

schemas: setup ## Write the JSON Schemas anew
	@$(RUN)/catchment schema workflow > schemas/workflow.schema.json
	@$(RUN)/catchment schema project > schemas/project.schema.json

lock: setup ## Pin the newest Python packages that pyproject.toml allows, and the jars of every Spark, with their hashes
	@tools/lock-python $(UV) $(RUN)/python
	@$(RUN)/python tools/lock-jars

wheel: setup ## Build the wheel that pip installs, in dist/
	@$(UV) build --quiet --wheel --out-dir dist --build-constraints requirements-build.txt --require-hashes .
	@ls dist/*.whl

bench: setup ## Run the benchmarks; figures go to docs/benchmarks.md by hand
	@$(RUN)/python bench/overhead.py
	@$(RUN)/python bench/partitioned.py
	@$(RUN)/python bench/startup.py
	@$(RUN)/python bench/latency.py --quick

clean: ## Remove what was installed and what runs left behind
	rm -rf .venv .tools .catchment dist demo demo-engines demo-live
