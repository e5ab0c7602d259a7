# The commands of the project. `make check` and `make test` are what CI runs; each sets itself up.
PYTHON ?= python3
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready
OVER_THE_BUS := crash_matrix delivered_twice long_waits lost_answers messages_are_lost stable_identities
SAM    := SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1 .venv-sam/bin/sam

.DEFAULT_GOAL := help
.PHONY: help setup lint check check-template format test test-fast test-cold test-all build test-deploy deploy-local demo bench bench-peers mutants guarantees lock clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

setup: $(READY)  ## a virtual environment with the locked requirements

$(READY): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(READY)

lint: $(READY)  ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint check-template  ## the same, and the templates

check-template: $(READY) .venv-sam/ready .venv-checkov/ready  ## the templates: SAM, CloudFormation, and what is not safe
	$(SAM) validate --lint
	$(BIN)/cfn-lint template.yaml infra/*.yaml
	BC_SKIP_MAPPING=TRUE CKV_OFFLINE=1 .venv-checkov/bin/checkov

format: $(READY)  ## what ruff can do by itself
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: $(READY)  ## the whole suite, offline: scenarios on the local store in full, and a sample of their cases on moto
	$(BIN)/pytest -n 2

test-fast: $(READY)  ## everything on the local store alone, after every change: about a minute
	DURABLE_TEST_STORE=local $(BIN)/pytest -n 2 --ignore=tests/aws --ignore=tests/demo

test-cold: $(READY)  ## the examples, each run replayed in fresh processes under two values of PYTHONHASHSEED
	$(BIN)/pytest --durable-cold tests/examples

test-all: $(READY)  ## the suite on every Python that is installed, and the scenarios over EventBridge
	for python in $(PYTHONS); do \
	    $$python -c "" 2>/dev/null || { echo "== $$python is not installed"; continue; }; \
	    echo "== $$($$python --version)"; \
	    $$python -m venv .venv-test && \
	    .venv-test/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt && \
	    .venv-test/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . && \
	    .venv-test/bin/pytest -n 2 || exit 1; \
	    rm -rf .venv-test; \
	done
	DURABLE_TEST_TRANSPORT=eventbridge $(BIN)/pytest -n 2 tests/scenarios

build: .venv-sam/ready  ## what a deployment uploads, in .aws-sam/build
	$(SAM) build

test-deploy: $(READY) build .venv-lambda/ready .venv-ministack/ready  ## what is built, under Lambda's runtime and deployed for real
	$(BIN)/python -m infra.local.beside_ministack $(BIN)/pytest tests/aws tests/contracts
	$(BIN)/python -m infra.local.beside_ministack $(BIN)/pytest -n 2 tests/scenarios
	DURABLE_TEST_TRANSPORT=eventbridge $(BIN)/python -m infra.local.beside_ministack $(BIN)/pytest -n 2 $(OVER_THE_BUS:%=tests/scenarios/test_%.py)
	$(BIN)/pytest -m deploy -n 2 --dist loadfile tests/deploy

deploy-local: $(READY) $(if $(filter --stop,$(ARGS)),,build .venv-ministack/ready)  ## the whole stack on this machine; ARGS=--stop ends it
	$(BIN)/python -m infra.local $(ARGS)

mutants: $(READY)  ## faults put into the code on purpose: some test must notice each
	$(BIN)/python -m tests.mutants $(ARGS)

demo: $(READY)  ## 200 transfers between two banks while workers are killed, then the audit; ARGS="--transfers 20 --kills 5"
	$(BIN)/python -m infra.demo $(ARGS)

bench-peers: $(READY) .venv-peer-aws/ready .venv-peer-dbos/ready $(if $(shell command -v temporal),.venv-peer-temporal/ready)  ## steps a second beside other engines, each in an environment of its own
	$(BIN)/python -m infra.peers

bench: $(READY) build .venv-lambda/ready  ## calls, write units, microseconds, imports and cold starts
	$(BIN)/python -m infra.bench

guarantees: $(READY)  ## which tests prove which rule, into docs/guarantees.md
	$(BIN)/python -m infra.guarantees

# Tools that can't share an environment with the project, nor with one another: .venv-sam and the like, made on first use.
.venv-%/ready: requirements/tools-%.txt
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/tools-$*.txt
	touch $@

lock:  ## write the hashed requirements (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --extra testing requirements/dev.in pyproject.toml -o requirements/dev.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header requirements/runtime.in -o requirements/runtime.txt
	for tool in sam checkov lambda ministack peer-aws peer-dbos peer-temporal; do \
	    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header requirements/tools-$$tool.in -o requirements/tools-$$tool.txt || exit 1; \
	done

clean:  ## remove what the commands have made
	rm -rf $(VENV) .venv-sam .venv-checkov .venv-lambda .venv-ministack .venv-peer-aws .venv-peer-dbos .venv-peer-temporal .aws-sam .mypy_cache .ruff_cache .hypothesis .demo

include infra/sam.mk
