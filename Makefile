# `make app` and `make test` install all they need; the other targets build on them.
PYTHON ?= python3
PORT ?= 8501
export OPENBLAS_NUM_THREADS ?= 1
PY := .venv/bin/python
# Tests are compiled once and not at every start, whatever the shell asks for.
test check soak: export PYTHONDONTWRITEBYTECODE =

.PHONY: app test check check-static bench soak samples shots chromium clean
.DEFAULT_GOAL := app

.venv/.app: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit("Candor needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@test -x $(PY) || $(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --requirement requirements.txt
	@touch $@

.venv/.test: .venv/.app tests/requirements.txt
	$(PY) -m pip install --quiet --requirement tests/requirements.txt
	@touch $@

app: .venv/.app
	@$(PY) -m pages.ui.selftest
	$(PY) -m streamlit run app.py --server.port $(PORT)

chromium:
	@sh tests/e2e/chromium.sh

# Everything: format, lint, types, layers, then every test including the browser.
test: .venv/.test chromium check-static
	$(PY) -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not soak" --durations 25

check-static: .venv/.test
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	.venv/bin/lint-imports

# The same without slow and browser tests, for the minute between two edits.
check: check-static
	$(PY) -m pytest -q -n 2 --dist worksteal -m "not slow and not e2e and not gpu"

build/peers/.done:
	$(PY) -m pip install --quiet --no-deps --target build/peers pytorch-ood==0.4.0
	@touch $@

bench: .venv/.test build/peers/.done
	$(PY) -m tests.benchmarks.bench_metrics
	$(PY) -m tests.benchmarks.bench_calibrators
	$(PY) -m tests.benchmarks.bench_losses
	$(PY) -m tests.benchmarks.bench_training
	PYTHONPATH=build/peers $(PY) -m tests.benchmarks.bench_ood --size XL

soak: .venv/.test chromium
	$(PY) -m pytest -n 2 --dist loadfile -m soak
	$(PY) -m tests.mutants.run
	$(PY) -m tests.core.jobs.rounds 500 $$$$

samples: .venv/.app
	$(PY) -m core samples build

shots: .venv/.test chromium
	$(PY) -m tests.e2e.shots

clean:
	rm -rf .venv build .pytest_cache .mypy_cache .ruff_cache .hypothesis
