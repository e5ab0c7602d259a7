# The commands of the project. `make check` and `make test` are what CI runs; each sets itself up.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready

.PHONY: setup check format test demo bench lock clean

setup: $(READY)  ## a virtual environment with the locked requirements

$(READY): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(READY)

check: $(READY)  ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: $(READY)  ## the whole suite, offline
	$(BIN)/pytest -n 2

demo: $(READY)  ## 200 transfers between two banks while workers are killed, then the audit
	$(BIN)/python -m infra.demo

bench: $(READY)  ## calls, write units, microseconds and imports
	$(BIN)/python -m infra.bench

lock:  ## write the hashed requirements (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --extra testing requirements/dev.in pyproject.toml -o requirements/dev.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header requirements/runtime.in -o requirements/runtime.txt

clean:
	rm -rf $(VENV) .aws-sam .mypy_cache .ruff_cache .hypothesis .demo

include infra/sam.mk
