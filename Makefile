# make run   this host's exporter and detector with a live view        make test  everything that CI checks
# make venv  the environment in .venv, also for the benches            make lint  the fast part of make test
# make render  writes docs and boards anew    make clean  removes all that make made
#
# make dashboards-preview  the Grafana boards drawn into docs/images, with npm and chromium
#
# make run PROMETHEUS=http://…   judges what that Prometheus scrapes, instead of this host's exporter
# make run EXPORTER_ADDRESS=127.0.0.1:17730 DETECTOR_ADDRESS=127.0.0.1:17731 BASELINE=2m FLAGS="--view=plain"

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/made
PROMETHEUS :=
EXPORTER_ADDRESS := 127.0.0.1:17720
DETECTOR_ADDRESS := 127.0.0.1:17721
BASELINE := 2m
FLAGS :=
PYTEST_FLAGS :=

enough = $(shell $(1) -c 'import sys; print("yes" if sys.version_info >= (3, 11) else "")' 2>/dev/null)
candidates := python3 python3.14 python3.13 python3.12 python3.11
PYTHON ?= $(firstword $(foreach name,$(candidates),$(if $(call enough,$(name)),$(name))))

.DELETE_ON_ERROR:
.PHONY: help venv run servers lint types render dashboards-preview test clean

help:
	@sed -n 's/^# \{0,1\}//p' Makefile

venv: $(STAMP)

$(STAMP): pyproject.toml deploy/make_venv.py
	$(if $(PYTHON),,$(error Python >= 3.11 is needed and none of $(candidates) is one; say make PYTHON=/path/to/python3))
	$(PYTHON) deploy/make_venv.py $(VENV)
	@touch $@

run: $(STAMP)
	@exec $(BIN)/python deploy/run_local.py --prometheus='$(PROMETHEUS)' --baseline='$(BASELINE)' \
	  --exporter-address='$(EXPORTER_ADDRESS)' --detector-address='$(DETECTOR_ADDRESS)' -- $(FLAGS)

servers: $(STAMP)
	$(BIN)/python -m tests.servers

lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(STAMP)
	$(BIN)/mypy

render: $(STAMP)
	$(BIN)/python -m deploy.render

dashboards-preview: servers
	$(BIN)/python -m tests.deploy.preview

test: servers lint types
	$(BIN)/python -m pytest --durations=15 $(PYTEST_FLAGS)

clean:
	rm -rf $(VENV) .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis dist
