# The commands of the project. `make check` and `make test` are what CI runs; each sets itself up.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready

.PHONY: setup check check-template format test demo bench guarantees lock clean

setup: $(READY)  ## a virtual environment with the locked requirements

$(READY): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(READY)

check: $(READY) check-template  ## format, lint, types, layers, templates
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check-template: $(READY) .venv-sam/ready .venv-checkov/ready  ## the templates: SAM, CloudFormation, and what is not safe
	SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1 .venv-sam/bin/sam validate --lint
	$(BIN)/cfn-lint template.yaml infra/*.yaml
	BC_SKIP_MAPPING=TRUE CKV_OFFLINE=1 .venv-checkov/bin/checkov

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: $(READY)  ## the whole suite, offline
	$(BIN)/pytest -n 2

demo: $(READY)  ## 200 transfers between two banks while workers are killed, then the audit; ARGS="--transfers 20 --kills 5"
	$(BIN)/python -m infra.demo $(ARGS)

bench: $(READY)  ## calls, write units, microseconds and imports
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
	for tool in sam checkov lambda ministack; do \
	    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header requirements/tools-$$tool.in -o requirements/tools-$$tool.txt || exit 1; \
	done

clean:
	rm -rf $(VENV) .venv-sam .venv-checkov .venv-lambda .venv-ministack .aws-sam .mypy_cache .ruff_cache .hypothesis .demo

include infra/sam.mk
