# What `sam build` runs: one target for each function and for the layer, by logical id. It gives ARTIFACTS_DIR and nothing
# else, no parameter of the template.

FUNCTIONS := Worker Api Start TerminalFailure DeadLetters Sweeper
RUNTIMES  := 3.11 3.12 3.13 3.14

.PHONY: $(FUNCTIONS:%=build-%) build-DependenciesLayer

# Lambda keeps no bytecode: what it is not given, every cold start compiles anew. It can be given for each runtime whose
# Python is here (the names of the files tell them apart), with the path at which Lambda has the sources. Unchecked: the
# sources don't change there, and so the same sources make the same bytes.
HERE     = $(foreach runtime,$(RUNTIMES),$(shell python$(runtime) -c "" 2>/dev/null && echo python$(runtime)))
MISSING  = $(filter-out $(HERE),$(RUNTIMES:%=python%))
BYTECODE = for python in $(HERE); do \
    $$python -m compileall -q --invalidation-mode unchecked-hash -s "$(1)" -p $(2) "$(1)" || exit 1; done

# A function is its handlers and the part of the library that runs there. Its dependencies are the layer's.
$(FUNCTIONS:%=build-%):
	mkdir -p "$(ARTIFACTS_DIR)"
	tar -cf - --exclude=__pycache__ --exclude=durable/testing --exclude=durable/local --exclude=durable/cli handler durable | tar -xf - -C "$(ARTIFACTS_DIR)"
	@$(call BYTECODE,$(ARTIFACTS_DIR),/var/task)

LAYER      = $(ARTIFACTS_DIR)/python
COMPILED  := greenlet msgspec
PROCESSORS := aarch64 x86_64
LAYER_PIP := $(PYTHON) -m pip --quiet --disable-pip-version-check
# Lambda's oldest image has glibc 2.26.
PLATFORM   = --platform manylinux2014_$(1) --platform manylinux_2_24_$(1)

# Two packages have compiled code. The layer holds it for every runtime and processor that the template offers (the file names
# of compiled modules tell them apart): the build can't know which one is deployed, and the wrong one fails only there.
build-DependenciesLayer:
	mkdir -p "$(LAYER)"
	$(LAYER_PIP) install --require-hashes --no-deps --no-compile --only-binary=:all: \
	    $(call PLATFORM,aarch64) --python-version 3.13 --target "$(LAYER)" -r requirements/runtime.txt
	for package in $(COMPILED); do \
	    sed -n "/^$$package==/,/[^\\]$$/p" requirements/runtime.txt >> "$(ARTIFACTS_DIR)/compiled.txt"; \
	done
	for runtime in $(RUNTIMES); do \
	    $(foreach processor,$(PROCESSORS),$(LAYER_PIP) download --require-hashes --no-deps --only-binary=:all: \
	        $(call PLATFORM,$(processor)) --python-version $$runtime --dest "$(ARTIFACTS_DIR)/wheels" \
	        -r "$(ARTIFACTS_DIR)/compiled.txt" || exit 1;) \
	done
	for wheel in "$(ARTIFACTS_DIR)"/wheels/*.whl; do $(PYTHON) -m zipfile -e "$$wheel" "$(LAYER)" || exit 1; done
	rm -rf "$(ARTIFACTS_DIR)/wheels" "$(ARTIFACTS_DIR)/compiled.txt" "$(LAYER)/bin" "$(LAYER)/include" "$(LAYER)"/*.data "$(LAYER)/greenlet/tests"
	find "$(LAYER)/greenlet" -type f ! -name '*.py' ! -name '*.so' -delete  # its C sources
	! find "$(LAYER)" -name '*.so' | grep -v $(COMPILED:%=-e /%/)  # another compiled dependency needs the same care
	@$(call BYTECODE,$(ARTIFACTS_DIR),/opt)
	@test -z "$(MISSING)" || echo "Not here, so with these Runtimes every cold start compiles: $(MISSING)"
