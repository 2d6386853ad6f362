# `make app` and `make test` install all they need; the other targets build on them.
PYTHON ?= python3
PORT ?= 8501
export OPENBLAS_NUM_THREADS ?= 1
PY := .venv/bin/python
# Tests are compiled once and not at every start, whatever the shell asks for.
test check check-numbers nightly soak: export PYTHONDONTWRITEBYTECODE =

.PHONY: app test check check-static check-all check-numbers size snapshots bench bench-loops gpu nightly soak samples shots chromium nginx slurm lock licences sbom clean
.DEFAULT_GOAL := app

.venv/.app: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit("Candor needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@test -x $(PY) || $(PYTHON) -m venv .venv
	@echo "Installing into .venv: about 7 GB with PyTorch, 5 to 20 minutes; again only when requirements.txt changes."
	@$(PY) -m pip install --disable-pip-version-check --requirement requirements.txt
	@echo "Compiling the loops, about a minute."
	@$(PY) -m core.compiled
	@touch $@

.venv/.test: .venv/.app tests/requirements.txt
	$(PY) -m pip install --quiet --requirement tests/requirements.txt
	@touch $@

app: .venv/.app
	@$(PY) -m pages.ui.selftest
	@echo "Open http://127.0.0.1:$(PORT) and drop a file of predictions there; Ctrl+C stops."
	@$(PY) -m streamlit run app.py --server.port $(PORT)

chromium:
	@sh tests/e2e/chromium.sh

# For the test of the recipe in deploy/, which is skipped where this does not succeed.
nginx:
	@command -v nginx >/dev/null || test -x /usr/sbin/nginx || { test "$$(id -u)" -eq 0 \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nginx-light \
		>/dev/null 2>&1; } || echo "nginx is not installed: its recipe is not tested" >&2

# Installs SLURM; with it the tests also run every job in a cluster on loopback, without it they say so.
slurm:
	@sh tests/core/jobs/slurm.sh

# Format, lint, types, layers, then every test that is neither nightly nor soak, the browser's too.
test: .venv/.test chromium nginx
	$(MAKE) --no-print-directory -j 2 check-static check-all

check-all: .venv/.test
	$(PY) -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not soak and not nightly" --durations 25

check-static: .venv/.test
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	.venv/bin/lint-imports
	$(PY) -m tests.size

# Lines, files and helpers of each room, beside what it may have.
size:
	@$(PY) -m tests.size

# What screens say, written anew after a change of words; the diff is to be read.
snapshots: .venv/.test
	$(PY) -m pytest -q tests/core/screens/test_snapshots*.py --snapshot-update

# For the minute between two edits: the static checks, and beside them the tests of the numbers and
# of what is drawn and said of them, less the slow ones. All other folders are left to `make test`:
# calibrators, readers, losses, models, data, training, jobs, library, commands, pages, the browser.
NUMBERS := $(addprefix tests/core/,metrics ood screens test_arrays.py test_predictions.py)

check: .venv/.test
	$(MAKE) --no-print-directory -j 2 check-static check-numbers

check-numbers: .venv/.test
	$(PY) -m pytest -q -n 2 --dist worksteal -m "not slow and not nightly and not soak and not gpu" $(NUMBERS)

# Real libraries to be measured beside, in an environment of their own that shares Candor's torch.
# What cannot be installed is left out of the tables, which say so.
PEERS := build/peers/venv
PEERS_PIP := $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps

$(PEERS)/.done: .venv/.app tests/benchmarks/peers/requirements.txt
	$(PY) -m venv $(PEERS)
	$(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		> $$($(PEERS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/candor.pth
	$(PEERS_PIP) --requirement tests/benchmarks/peers/requirements.txt \
		|| grep == tests/benchmarks/peers/requirements.txt | xargs -n 1 $(PEERS_PIP) || true
	@touch $@

# About 20 minutes on two idle cores; `make bench SIZES="S M"` is shorter.
SIZES ?= S M L XL

bench: .venv/.test $(PEERS)/.done
	$(PY) -m tests.benchmarks.peers --sizes $(SIZES) --write

# Candor's own loops, beside their definitions written plainly and Lightning's Trainer.
bench-loops: .venv/.test $(PEERS)/.done
	$(PY) -m tests.benchmarks.bench_slider
	$(PY) -m tests.benchmarks.bench_calibrators
	$(PY) -m tests.benchmarks.bench_losses
	$(PEERS)/bin/python -m tests.benchmarks.bench_training

# At most 9 minutes on one GPU: docs/gpu.md with its figures beside it. Without a GPU the same
# stages at small sizes on the CPU, into build/gpu.
gpu: .venv/.test
	$(PY) -m tests.benchmarks.gpu

# All that `make test` runs, and what it leaves out because it takes long and rarely turns red: real
# trainings, every format and size, whole walks through pages, and clusters where `make slurm` has
# installed one.
nightly: .venv/.test chromium nginx
	$(PY) -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not soak" --durations 25

soak: .venv/.test chromium
	$(PY) -m pytest -n 2 --dist loadfile -m soak
	$(PY) -m tests.mutants.run
	$(PY) -m tests.core.jobs.rounds 500 $$$$
	$(PY) -m tests.core.jobs.cluster_rounds 100 $$$$
	$(PY) -m tests.core.readers.fuzz 100000

samples: .venv/.app
	$(PY) -m core samples build

shots: .venv/.test chromium
	$(PY) -m tests.e2e.shots

# What is installed: versions with hashes, licences, and a bill of materials in build/sbom.json.
lock: .venv/.test
	sh deploy/lock.sh

licences: .venv/.test
	$(PY) -m deploy.licences

sbom: .venv/.test
	@mkdir -p build
	$(PY) -m cyclonedx_py requirements deploy/lock-cuda.txt --output-format JSON --output-file build/sbom.json

clean:
	rm -rf .venv build .pytest_cache .mypy_cache .ruff_cache .hypothesis
