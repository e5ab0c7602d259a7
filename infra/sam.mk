# What `sam build` runs: one target for each function and for the layer, by logical id. It gives ARTIFACTS_DIR and nothing
# else, no parameter of the template.

FUNCTIONS := Worker Api Start TerminalFailure DeadLetters Sweeper

.PHONY: $(FUNCTIONS:%=build-%) build-DependenciesLayer

# A function is its handlers and the part of the library that runs there. Its dependencies are the layer's.
$(FUNCTIONS:%=build-%):
	mkdir -p "$(ARTIFACTS_DIR)"
	tar -cf - --exclude=__pycache__ --exclude=durable/testing --exclude=durable/cli handler durable | tar -xf - -C "$(ARTIFACTS_DIR)"

LAYER      = $(ARTIFACTS_DIR)/python
RUNTIMES  := 3.11 3.12 3.13 3.14
PLATFORMS := manylinux2014_aarch64 manylinux2014_x86_64
LAYER_PIP := $(PYTHON) -m pip --quiet --disable-pip-version-check

# msgspec alone has compiled code. The layer holds it for every runtime and processor that the template offers (the file
# names of compiled modules tell them apart): the build can't know which one is deployed, and the wrong one fails only there.
build-DependenciesLayer:
	mkdir -p "$(LAYER)"
	$(LAYER_PIP) install --require-hashes --no-deps --no-compile --only-binary=:all: \
	    --platform manylinux2014_aarch64 --python-version 3.13 --target "$(LAYER)" -r requirements/runtime.txt
	sed -n '/^msgspec==/,/[^\\]$$/p' requirements/runtime.txt > "$(ARTIFACTS_DIR)/compiled.txt"
	for runtime in $(RUNTIMES); do for platform in $(PLATFORMS); do \
	    $(LAYER_PIP) download --require-hashes --no-deps --only-binary=:all: --platform $$platform \
	        --python-version $$runtime --dest "$(ARTIFACTS_DIR)/wheels" -r "$(ARTIFACTS_DIR)/compiled.txt" || exit 1; \
	done; done
	for wheel in "$(ARTIFACTS_DIR)"/wheels/*.whl; do $(PYTHON) -m zipfile -e "$$wheel" "$(LAYER)" || exit 1; done
	rm -rf "$(ARTIFACTS_DIR)/wheels" "$(ARTIFACTS_DIR)/compiled.txt" "$(LAYER)/bin"
	! find "$(LAYER)" -name '*.so' | grep -v '/msgspec/'  # another compiled dependency needs the same care
