PYTHON := python3
VENV := .venv
LOWEST := .venv-lowest
BIN := $(VENV)/bin
UV_INSTALL = $(@D)/bin/uv pip install --quiet --system-certs --python $(@D)/bin/python
# What the kernels are tested by, directly and through the models right above them.
KERNELS := tests/kernels $(addprefix tests/models/test_,sparse_gp.py arm_posterior.py pending.py)
NUMERICS := $(KERNELS) $(addprefix tests/models/test_,gp.py priors.py transforms.py descent.py)
# Fits, searches and studies whose path depends on rounding.
ROUNDED := $(addprefix tests/,models/test_gp.py models/test_sparse_gp.py search/test_gp_search.py \
	optimizers/test_constraints.py optimizers/test_arms.py optuna/test_fixed.py)
READY := $(VENV)/.ready
NO_ADDRESS := not for PyPI. NUMBO_URL, the address of the repository, is not set: the project has no links, and those of \
	the README lead nowhere.
# Tests start hundreds of processes: byte code is written by the first that imports a module.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-slow expected interpreted compiled bounds-checked test-lowest test-arithmetic \
	test-other-arithmetic soak lint types hooks docs benchmark dist clean

demo: $(VENV)/.demo
	$(BIN)/python examples/nas_diabetes.py

# The kernels interpreted, under coverage, while they are compiled for the suite, which then runs on all cores. The BLAS
# has one thread: several would wait for each other, where tests keep all cores busy.
test: export OPENBLAS_NUM_THREADS := 1
test: expected $(READY)
	$(MAKE) --jobs=2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) interpreted compiled
	$(BIN)/python -m pytest -n auto --dist loadgroup -m 'not slow'

# Clusters that lose nodes, killed drivers, every example and page on Ray, the notebooks.
test-slow: export OPENBLAS_NUM_THREADS := 1
test-slow: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadgroup -m slow

expected:
	@echo 'The tests take 8 to 16 minutes on two idle cores.'

interpreted: $(READY)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest $(KERNELS)
	$(BIN)/python -m coverage report --include='src/numbo/kernels/*' --fail-under=100

compiled: $(READY)
	$(BIN)/python -c 'import numbo; numbo.warmup()'

# Compiled with bounds checks, unoptimised, which takes less time.
bounds-checked: $(READY)
	NUMBA_BOUNDSCHECK=1 NUMBA_OPT=0 NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/bounds-checked $(BIN)/python -m pytest \
		-W ignore::numba.NumbaWarning $(NUMERICS)

# The suite with the lowest versions that pyproject.toml promises, or the lowest that have a wheel for this Python.
test-lowest: $(LOWEST)/.ready
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/numba $(LOWEST)/bin/python -m pytest -n auto --dist loadgroup

# What depends on rounding, under one arithmetic after the other: the kernels of OpenBLAS and the loops of NumPy for each
# kind of processor that this one can stand for, code of Numba for any, and the lowest versions.
test-arithmetic: $(READY) $(LOWEST)/.ready
	$(BIN)/python -m benchmarks arithmetics -- -n auto --dist loadgroup

# A small part of it, under one that is not this machine's own.
test-other-arithmetic: $(READY)
	$(BIN)/python -m benchmarks arithmetics --other -- $(ROUNDED)

# Long: thousands of trials over real storages with killed workers, 20,000 in one process, 50,000 at once; a thousand
# random programs; twenty times as many random sequences of calls.
soak: $(READY)
	$(BIN)/python -m benchmarks reliability
	$(BIN)/python -m benchmarks programs
	NUMBO_FUZZ=20 $(BIN)/python -m pytest --timeout 7200 $(wildcard tests/reliability/test_fuzz_*.py) \
		tests/test_interrupts.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The package is put together from two folders (see pyproject.toml); mypy sees it as it is installed.
types: $(READY)
	mkdir -p build/types/numbo
	ln -sfn $(CURDIR)/src/numbo/* build/types/numbo/
	ln -sfn $(CURDIR)/integrations/optuna build/types/numbo/optuna
	ln -sfn $(CURDIR)/integrations/ray build/types/numbo/ray
	MYPYPATH=build/types:examples $(BIN)/mypy --explicit-package-bases build/types/numbo benchmarks tests/harness examples

# What `pre-commit install` lets run before each commit, on all files.
hooks: $(READY)
	$(BIN)/pre-commit run --all-files

# The site goes to build/site; any warning is an error, also those about docstrings, which --strict lets pass.
docs: types
	$(BIN)/zensical build --clean --strict --config-file mkdocs.yml >build/docs.log 2>&1 || { cat build/docs.log; exit 1; }
	cat build/docs.log
	! grep --quiet '^griffe:' build/docs.log

benchmark: $(READY)
	$(BIN)/python -m benchmarks ask-time
	$(BIN)/python -m benchmarks run --samplers GSSBO TPE CMA-ES Random
	$(BIN)/python -m benchmarks report

# The sdist and the wheel that is built from it, in dist/, checked; the wheel is installed and imported on its own.
dist: $(READY)
	rm -rf dist build/wheel
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet dist/*.whl
	cd build/wheel && bin/python -m numbo --version
	$(if $(NUMBO_URL),,@echo 'WARNING: $(NO_ADDRESS)' >&2)

$(VENV)/.demo: pyproject.toml $(BIN)/uv
	$(UV_INSTALL) --editable ".[optuna]" --group demo
	touch $@

$(READY): pyproject.toml $(BIN)/uv
	$(UV_INSTALL) --editable ".[all]" --group dev
	touch $(VENV)/.demo $@

$(LOWEST)/.ready: pyproject.toml $(LOWEST)/bin/uv
	$(UV_INSTALL) --resolution lowest-direct --only-binary :all: \
		--editable ".[all]" --group examples --group benchmarks --group test
	touch $@

# uv installs in seconds what takes pip minutes.
%/bin/uv:
	$(PYTHON) -m venv $*
	$*/bin/python -m pip install --quiet uv

clean:
	rm -rf $(VENV) $(LOWEST) build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
