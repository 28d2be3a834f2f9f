# Every target sets up what it needs in .venv of this clone; the second run is fast.
# make run    the plaza, with its page          make test   the whole suite, compiled and plain forms
# make check  lint, types, import rules       make bench  the benchmarks                 make clean
# make coverage  300 simulated worlds, and how often each transition of each state machine was taken (about 7 minutes of
#             processor time, by the first 38 of them)
# make attack what a player notices while strangers attack the doors of a cluster on this machine

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
LIBRARIES := $(VENV)/.libraries
READY := $(VENV)/.ready
TOOLS := $(VENV)/.tools
TYPED := $(wildcard src/terrazzo/*/*.pxd src/terrazzo/*/*/*.pxd)
KERNELS := $(wildcard src/terrazzo/_speed/*.py src/terrazzo/*/*.pyx src/terrazzo/*/*/*.pyx $(TYPED:.pxd=.py)) $(TYPED)
PROJECT = $(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))$(1))'
# Tests of real processes wait more than they compute: four workers more than processors keep all processors at work.
WORKERS := $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) + 4 )))
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations 10

.PHONY: run test browser postgres check bench coverage attack clean setup traces traces-compare hints metrics

setup: $(READY)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Terrazzo needs Python 3.11 or newer; '$(PYTHON)' is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting Terrazzo up in $(VENV), this once: a minute or so on two processors, less on more."
	@echo "[1/3] A Python of its own."
	@$(PYTHON) -m venv $(VENV)

# What builds the kernels comes first, and stays: pip would fetch it a second time for a place of its own, and build in
# silence. Without the kernels, the package itself is installed by a link to this clone.
$(LIBRARIES): $(BIN)/python pyproject.toml
	@echo "[2/3] The libraries it stands on."
	@$(PIP) install --no-compile $$($(call PROJECT,["build-system"]["requires"]))
	@TERRAZZO_PURE=1 $(PIP) install --no-compile --no-build-isolation --editable .
	@touch $@

$(READY): $(LIBRARIES) setup.py $(KERNELS)
	@echo "[3/3] The compiled kernels."
	@$(BIN)/python setup.py --quiet build_ext --inplace
	@touch $@

$(TOOLS): $(LIBRARIES)
	@echo "The tools of the tests."
	@$(PIP) install --no-compile $$($(call PROJECT,["project"]["optional-dependencies"]["dev"]))
	@touch $@

run: $(READY)
	@$(BIN)/terrazzo run examples/plaza --cells 4 --bases 2 --bots 100

# The plain pass leaves out what the form of a kernel cannot change: packages that use none, and the tests of the judges.
PLAIN := $(addprefix tests/,base cell client schema sim speed sync wire world)

# Tests start hundreds of Python processes. Each would compile all modules again where the environment forbids bytecode,
# which is a third of the processor time of such a test.
test check: export PYTHONDONTWRITEBYTECODE :=
test check: export PYTHONPYCACHEPREFIX := $(CURDIR)/build/bytecode

# The checks need no kernels, Chromium and PostgreSQL come from elsewhere: all at a time.
test: $(LIBRARIES)
	@$(MAKE) --no-print-directory -j 3 $(READY) check browser postgres
	$(PYTEST) --ignore tests/test_tidy.py
	TERRAZZO_PURE=1 $(PYTEST) -m "not judges and not once" $(PLAIN)

# Three hundred harsh worlds: fails for a promise that broke, and for a transition of a state machine that none took.
coverage: $(READY)
	$(BIN)/terrazzo sim seamless --seed 0 --seeds 300 --faults harsh --coverage

# Chromium for the browser tests: Debian's, if this machine has apt and we are root; else they are left out, and say so.
browser:
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; \
	then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	  echo "Installing Debian's Chromium for the browser tests."; \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } \
	    >/dev/null 2>&1 || echo "Chromium could not be installed: the browser tests are left out."; \
	else echo "There is no Chromium, and only root may install it: the browser tests are left out."; fi

# PostgreSQL for the tests of databases, which start it themselves: Debian's, without the server that it would start, on the
# same terms. After Chromium, since apt does one thing at a time.
postgres: browser
	@if ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	  echo "Installing Debian's PostgreSQL for the tests of databases."; \
	  { apt-get update -qq && export DEBIAN_FRONTEND=noninteractive && \
	    apt-get install -y -qq --no-install-recommends postgresql-common && \
	    sed -ri 's/^#?(create_main_cluster) .*$$/\1 = false/' /etc/postgresql-common/createcluster.conf && \
	    apt-get install -y -qq --no-install-recommends postgresql; } \
	    >/dev/null 2>&1 || echo "PostgreSQL could not be installed: its tests are left out."; \
	else echo "There is no PostgreSQL, and only root may install it: its tests are left out."; fi

check: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest tests/test_tidy.py

bench: $(READY) $(VENV)/.rivals
	$(BIN)/terrazzo bench codec
	$(BIN)/terrazzo bench channel
	$(BIN)/terrazzo bench session
	$(BIN)/terrazzo bench aoi
	$(BIN)/terrazzo bench cell
	$(BIN)/terrazzo bench migrate
	$(BIN)/terrazzo bench sync
	$(BIN)/terrazzo bench latency

# For moves and renames: write the traces of a tree, change it, compare (`tests/tools/traces.py`).
traces: $(READY)
	$(BIN)/python -m tests.tools.traces write build/traces.json 100

traces-compare: $(READY)
	$(BIN)/python -m tests.tools.traces compare build/traces.json

attack: $(READY)
	$(BIN)/terrazzo attack

# The page of all that is logged and counted.
metrics: $(READY)
	$(BIN)/python -m tests.tools.metrics

# Mutations of the simulator whose hints went stale, because worlds have changed: finds worlds that show them.
hints: $(READY)
	$(BIN)/python -m tests.tools.hints

# The rivals that the benchmarks measure beside. pyenet builds with any Cython but asks for an old one: hence --no-deps.
$(VENV)/.rivals: $(LIBRARIES)
	@echo "The rivals."
	@TERRAZZO_PURE=1 $(PIP) install --no-build-isolation --editable '.[bench]'
	@$(PIP) install --no-deps pyenet
	@touch $@

clean:
	rm -rf $(VENV) build dist src/*.egg-info .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find src -name '*.so' -delete
