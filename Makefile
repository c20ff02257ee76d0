# Everything a person does with this repository. Start with: make help
.DEFAULT_GOAL := help
SHELL := /bin/sh

PYTHON ?= python3
CACHE := $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/gpu-quota-portal
# One environment per lock file and Python, so that switching branches needs no reinstall.
VENV := $(shell $(PYTHON) .ci/environment.py path "$(CACHE)" 2>/dev/null)
RUN := $(VENV)/bin/python
# Tools that read the code get settings without a server behind them.
BUILD := GPUPORTAL_BUILD=1
PACKAGES := portal tenants queues costs kube cluster tests .ci manage.py

.PHONY: help setup demo demo-manage demo-reset screenshots test bench bench-costs bench-live bench-scale soak lint format lock openapi messages clean manage

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install everything into an environment outside this folder (PYTHON=python3.11 to choose)
	@$(PYTHON) .ci/environment.py setup "$(CACHE)"

demo: setup ## Start the whole portal on this machine, with a real Kubernetes and Kueue
	@$(RUN) manage.py demo $(ARGS)

demo-manage: setup ## Run a command of the portal on the demo that runs (ARGS="why nlp/train-bert-4 --as bob")
	@$(RUN) manage.py demo --do $(ARGS)

demo-reset: setup ## Throw the demo's data away
	@$(RUN) manage.py demo --reset $(ARGS)

screenshots: setup ## Take a picture of every page of a running demo (ARGS="http://127.0.0.1:8000 folder")
	@$(RUN) -m tests.browser.screenshots $(ARGS)

test: setup ## Run every check and every test (ARGS="tests/kube -k name" for some tests only)
	@$(RUN) .ci/checks.py $(ARGS)

bench: setup ## Measure, and compare with the numbers that were promised
	@$(RUN) -m pytest -m bench tests/bench $(ARGS)

bench-scale: setup ## Measure an observer with 50,000 workloads of a real API server (half an hour)
	@$(RUN) -m pytest -m scale tests/bench/scale -n0 $(ARGS)

bench-costs: setup ## Measure a month of ten million phases: its report, a day counted again, pages
	@$(RUN) -m pytest -m scale tests/bench/costs -n0 -s $(ARGS)

soak: setup ## Random jobs for half an hour, with Kueue's own meters as the control total
	@$(RUN) -m pytest -m soak tests/real/soak -n0 -s $(ARGS)

bench-live: setup ## Measure how fast news reaches open pages, and what a stream costs
	@$(RUN) -m tests.bench.live $(ARGS)

lint: setup ## Look at the code without running it
	@$(RUN) .ci/checks.py --lint

format: setup ## Bring code and templates into their form
	@$(RUN) -m ruff check --fix-only --quiet $(PACKAGES)
	@$(RUN) -m ruff format --quiet $(PACKAGES)

lock: ## Write the lock files again from requirements/*.in (needs uv)
	@cd requirements && for name in run dev; do \
	  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-header --output-file $$name.txt $$name.in || exit 1; done

openapi: setup ## Write the description of the API again from the code (tests/contracts/openapi.yaml)
	@UPDATE_OPENAPI=1 $(RUN) -m pytest -q -n0 tests/contracts/test_openapi.py

messages: setup ## Collect the texts to translate and compile the translations (needs gettext)
	@$(BUILD) $(RUN) manage.py makemessages --locale zh_Hans --no-location --ignore build
	@$(BUILD) $(RUN) manage.py compilemessages --locale zh_Hans

manage: setup ## Run one command with fresh servers: make manage ARGS="makemigrations tenants -n name"
	@$(RUN) -m portal.embedded manage.py $(ARGS)

clean: ## Remove what checks and tests leave in this folder
	@rm -rf build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
