PYTHON := python3
VENV := .venv
LOWEST := .venv-lowest
BIN := $(VENV)/bin
UV_INSTALL = $(@D)/bin/uv pip install --quiet --system-certs --python $(@D)/bin/python
# What the kernels are tested by, directly and through the models right above them.
KERNELS := tests/kernels $(addprefix tests/models/test_,sparse_gp.py arm_posterior.py pending.py)
NUMERICS := $(KERNELS) $(addprefix tests/models/test_,gp.py priors.py transforms.py threads.py)
READY := $(VENV)/.ready
# Tests start hundreds of processes: byte code is written by the first that imports a module.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test interpreted compiled bounds-checked test-lowest soak lint types docs benchmark dist clean

demo: $(VENV)/.demo
	$(BIN)/python examples/nas_diabetes.py

# The kernels interpreted, under coverage, while they are compiled for the suite, which then runs on all cores.
test: $(READY)
	$(MAKE) --jobs=2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) interpreted compiled
	$(BIN)/python -m pytest -n auto --dist loadgroup

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

# Long: thousands of trials over real storages with killed workers, 20,000 in one process, 50,000 at once; a thousand
# random programs.
soak: $(READY)
	$(BIN)/python -m benchmarks reliability
	$(BIN)/python -m benchmarks programs

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
	cd build/wheel && bin/python -c "import numbo; print('numbo', numbo.__version__)"

$(VENV)/.demo: pyproject.toml $(BIN)/uv
	$(UV_INSTALL) --editable ".[demo]"
	touch $@

$(READY): pyproject.toml $(BIN)/uv
	$(UV_INSTALL) --editable ".[dev]"
	touch $(VENV)/.demo $@

$(LOWEST)/.ready: pyproject.toml $(LOWEST)/bin/uv
	$(UV_INSTALL) --resolution lowest-direct --only-binary :all: \
		--editable ".[optuna,ray,plot,examples,benchmarks,test]"
	touch $@

# uv installs in seconds what takes pip minutes.
%/bin/uv:
	$(PYTHON) -m venv $*
	$*/bin/python -m pip install --quiet uv

clean:
	rm -rf $(VENV) $(LOWEST) build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
