# The two commands are `make run` and `make test`; `make help` lists the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CARGO ?= cargo

# What the extension module is built from: it is rebuilt when one of these changes, and only then.
CORE := $(shell find crates presets -type f \( -name '*.rs' -o -name '*.toml' \) -not -path '*/target/*') \
	Cargo.toml Cargo.lock rust-toolchain.toml
BUILT := $(VENV)/.built
TOOLS := $(VENV)/.tools

.DEFAULT_GOAL := help
.PHONY: help build run test lint docs wheel browser bench claims-check clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

build: $(BUILT) ## build the extension module and the CLI into .venv

run: $(BUILT) ## build, then compare read-retry schemes on an aged drive; writes a table and a picture to results/
	@mkdir -p results
	$(BIN)/ssdlab sweep examples/read-retry.toml --out results/read-retry.csv
	$(BIN)/ssdlab compare results/read-retry.csv --metric host.read.latency_ns.mean --plot results/read-retry.png

test: wheel $(TOOLS) ## run every test: the crates', then the Python package's and the wheel's
	$(CARGO) test --workspace --quiet
	$(BIN)/python -m pytest --wheel="$$(ls target/wheels/*.whl)"

lint: $(BUILT) $(TOOLS) ## formatting, clippy, ruff, mypy; warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff check python tests studies docs
	$(BIN)/ruff format --check python tests studies docs
	$(BIN)/mypy

claims-check: $(BUILT) $(TOOLS) ## pull every lever of every predicted claim (two minutes); `make test` pulls the quick ones
	$(BIN)/python -m pytest tests/test_claims.py --all-claims

docs: $(BUILT) $(TOOLS) ## build the documentation into target/docs; warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -q docs target/docs

# The same profile and interpreter as above: nothing is compiled again.
wheel: $(BUILT) ## build a wheel into target/wheels, for any Python from 3.11 on, without Rust
	rm -rf target/wheels
	$(BIN)/maturin build --release --interpreter $(BIN)/python --out target/wheels

browser: ## install headless Chromium for the tests of reports, where apt and root are; they are skipped without it
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		(apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		apt-get install -qq -y --no-install-recommends chromium chromium-driver) >/dev/null 2>&1 \
		|| echo 'note: apt-get could not install chromium: the tests that need a browser will be skipped'; \
	else echo 'note: no chromium here, and no root with apt: the tests that need a browser will be skipped'; fi

bench: ## measure speed and memory on a fixed panel, then the parts by themselves
	$(CARGO) run --quiet --release --package ssd --example bench
	$(CARGO) test --quiet --release --package ssd --lib -- --ignored --nocapture --test-threads=1 bench_
	$(CARGO) test --quiet --release --package nand -- --ignored --nocapture bench_
	$(CARGO) test --quiet --release --package ecc -- --ignored --nocapture bench_
	$(CARGO) run --quiet --release --package workload --example throughput

clean: ## remove everything that was built
	rm -rf $(VENV) target results python/ssdlab/_core*.so .pytest_cache .ruff_cache .mypy_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "error: Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)

$(BUILT): $(CORE) pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'maturin>=1.9.4,<2'
	VIRTUAL_ENV='$(CURDIR)/$(VENV)' $(BIN)/maturin develop --release --extras plot,report
	@touch $@

# The extras `dev` and `docs` of pyproject.toml.
$(TOOLS): pyproject.toml | $(BIN)/python
	$(BIN)/python -c 'import tomllib; \
	extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; \
	print(*extras["dev"], *extras["docs"], sep="\n")' > $@.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $@.txt
	@touch $@
