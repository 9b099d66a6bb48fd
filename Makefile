# Octavo's commands. `make help` lists them; tools/venv.sh keeps the virtual environment.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
# Seconds of use of each database, after a warm-up of a quarter of them.
SOAK ?= 480

.DEFAULT_GOAL := help
.PHONY: help install run test storm simulate fuzz siege soak mutants lint check demo bench lock examples screenshots size dist clean dev yjs better-auth axe html-validate mcp-conformance oauth-clients oldest-sqlite

help: ## say what each command does
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile | expand -t 22
	@echo "PYTHON=... names the interpreter; ARGS=... is added to the command of run, test, storm, simulate, fuzz, siege, soak, mutants, screenshots, examples, demo, bench or lock."

install: ## install Octavo with what it needs to run, from requirements.lock
	@tools/venv.sh runtime '$(PYTHON)' $(VENV)

run: install ## install, then serve
	@exec $(BIN)/octavo serve $(ARGS)

dev:
	@tools/venv.sh dev '$(PYTHON)' $(VENV)

yjs:
	@tools/npm.sh yjs YJS

axe:
	@tools/npm.sh axe AXE-CORE

html-validate:
	@tools/npm.sh html_validate HTML-VALIDATE

oldest-sqlite:
	@tools/npm.sh oldest_sqlite 'THE OLDEST SQLITE'

better-auth:
	@tools/npm.sh better_auth BETTER-AUTH

mcp-conformance:
	@tools/npm.sh mcp_conformance 'THE CONFORMANCE SUITE OF MCP'

oauth-clients:
	@tools/npm.sh oauth_clients 'FOREIGN CLIENTS OF MCP AND OAUTH'

# With the variable, each process of each run would compile all modules anew.
test: dev yjs better-auth axe html-validate mcp-conformance oauth-clients oldest-sqlite ## run every test, in three processes; ARGS='-n 0' takes one
	@PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q -n 3 --dist worksteal $(ARGS)

storm: dev ## run the storms of the core under 50,000 schedules each
	@GREENROOM_STORM_SCHEDULES=50000 $(BIN)/pytest -q packages/greenroom/tests/test_storms.py $(ARGS)

simulate: dev ## run the whole service under 50,000 schedules, the other simulations under 5,000
	@OCTAVO_SIMULATION_SCHEDULES=50000 OCTAVO_SIMULATION_SEEDS=5000 \
		$(BIN)/pytest -q -n 2 --dist worksteal tests/simulation \
		$(wildcard tests/features/*/simulation) $(ARGS)

fuzz: dev yjs ## check a million mutated requests and documents, 400,000 images, 300,000 archives, random values
	@ANTECHAMBER_FUZZ_CASES=1000000 OCTAVO_FUZZ_UPDATES=1000000 OCTAVO_FUZZ_IMAGES=400000 \
		OCTAVO_FUZZ_ARCHIVES=300000 $(BIN)/pytest -q packages/antechamber/tests/test_fuzz.py \
		tests/yjs/test_fuzz.py tests/features/images/worker/test_reading.py tests/features/archives/worker/test_fuzz.py $(ARGS)
	@OCTAVO_PROPERTY_EXAMPLES=2000 $(BIN)/pytest -q -n 2 --dist worksteal -m hypothesis $(ARGS)

siege: dev ## kill, mislead, overload and probe the real server for more than half an hour
	@OCTAVO_PAYLOADS_TOGETHER=1 OCTAVO_PAYLOADS_WITH_POLICY=1 OCTAVO_SLOW_SIZES=2000000,600000,200000,60000,20000,6000 \
		OCTAVO_CRASHES=300 OCTAVO_HOSTILE_CASES=300000 OCTAVO_SCHEMATHESIS_SECONDS=600 \
		$(BIN)/pytest -q tests/e2e/test_crash.py tests/e2e/test_hostile.py \
		tests/e2e/test_schemathesis.py tests/e2e/test_published_payloads.py $(ARGS)
	@OCTAVO_FAILOVERS=1 $(BIN)/pytest -q -n 0 tests/actors/workspace/test_history_taken_back.py $(ARGS)
	@OCTAVO_OVERLOAD_SECONDS=20 $(BIN)/pytest -q -n 0 tests/e2e/overload $(ARGS)
	@OCTAVO_OVERLOAD_SECONDS=20 $(BIN)/python -m tests.e2e.overload.report

soak: dev ## use the real server for 20 minutes, delete everything, and see that nothing is left
	@OCTAVO_SOAK_SECONDS=$(SOAK) $(BIN)/pytest -q -n 0 -s tests/e2e/soak $(ARGS)

mutants: dev ## plant thousands of small faults, and write down which of them no test finds
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --require-hashes --no-deps \
		--only-binary :all: --requirement requirements-mutants.lock
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m tools.mutants $(ARGS)

screenshots: dev ## write pictures of every page to build/screenshots
	@$(BIN)/python -m tools.screenshots $(ARGS)

size: dev ## count the lines of code of each package, room and feature
	@$(BIN)/python -m tools.size

lint: dev ## check style, format, types, and who imports whom
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

# npm installs while pip does, and mypy runs beside the first tests.
check: ## lint and test: what must pass before a change lands
	@$(MAKE) --no-print-directory --jobs=2 dev yjs better-auth axe html-validate mcp-conformance oauth-clients oldest-sqlite
	@$(MAKE) --no-print-directory --jobs=2 lint test

demo: dev ## let two devices edit a vault of real Markdown at once
	@$(BIN)/python -m demo $(ARGS)

bench: dev ## run each benchmark
	@for script in $(wildcard benchmarks/*.py); do $(BIN)/python "$$script" $(ARGS) || exit; done

examples: dev ## write the examples of the API document anew, out of the tests of operations
	@echo '{}' > octavo/service/examples.json
	@OCTAVO_RENEW_EXAMPLES=1 $(BIN)/pytest -q -n 0 -k sqlite \
		tests/e2e/test_operations.py::test_operation $(ARGS)

# The build backend is locked with what it builds. The dev lock takes every version that both
# name from the runtime lock.
PACKAGES = antechamber client greenroom
COMPILE = $(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 \
	--custom-compile-command 'make lock' $(addprefix --no-emit-package ,antechamber greenroom octavo-client) $(ARGS) \
	pyproject.toml $(PACKAGES:%=packages/%/pyproject.toml) -
BUILD_REQUIRES = $(BIN)/python -c 'import sys, tomllib; \
	[print(*tomllib.load(open(file, "rb"))["build-system"]["requires"], sep="\n") for file in sys.argv[1:]]' \
	pyproject.toml $(PACKAGES:%=packages/%/pyproject.toml)

MUTANTS = $(BIN)/python -c 'import tomllib; \
	print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["mutants"], sep="\n")'

lock: dev ## write the lock files anew; ARGS=--upgrade takes the newest versions
	@$(BUILD_REQUIRES) | $(COMPILE) --output-file requirements.lock
	@$(BUILD_REQUIRES) | $(COMPILE) --extra testing --extra dev \
		--constraint requirements.lock --output-file requirements-dev.lock
	@$(MUTANTS) | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-deps --python-version 3.11 \
		--custom-compile-command 'make lock' $(ARGS) - --output-file requirements-mutants.lock

dist: dev ## build a wheel of each distribution into dist
	@rm -rf dist
	@$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation \
		--wheel-dir dist . $(PACKAGES:%=./packages/%)

clean: ## remove the virtual environment and what the tools left behind
	rm -rf $(VENV) tests/*/node_modules .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
