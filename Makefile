# `make install` installs what claims need, `make claims` tests the papers' findings, `make test` tests
# embinit. CONTRIBUTING.md lists the others.
# Each makes its own virtual environment first, from the tested versions in constraints.txt.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# One thread a process: workers are processes, and more threads than cores cost five times.
export OMP_NUM_THREADS = 1
export MKL_NUM_THREADS = 1
# pytest keeps what it makes of a module as bytecode. Without it each of the tests' sessions makes all
# of embinit anew, which is a third of their time.
unexport PYTHONDONTWRITEBYTECODE

# The minutes after which no further analysis begins. Without them a session goes on until all is
# decided, or has its last seeds. First analyses, and those of controls, are always made; the others
# end early enough to leave time for them.
BUDGET ?=

# What is tested: folders or files of claims, such as studies/ for embinit's own.
CLAIMS ?= claims/

# micro, sample, full or paper. All but micro read real text from EMBINIT_DATA. Each has its own reference.
TIER ?= micro
REFERENCE = $(if $(filter studies%,$(CLAIMS)),studies,reports)/reference/$(TIER)
# A reference that an earlier rule decided, about other statements, is no baseline.
BASELINE = $(patsubst %,--baseline %,$(shell grep -ls '"rule":' $(REFERENCE)/verdicts.json))

# In the order of the site's report.
TIERS := micro sample full paper
# How many of the reference's runs `make retrain` makes again.
RUNS ?= 20

.PHONY: install claims retrain test test-nightly lint docs build results bless clean

claims: $(VENV)/installed$(if $(filter micro,$(TIER)),-claims)
	@# Status 1 says that a claim was refuted, which is a result; embinit check knows a fault.
	@# Any other ends it (docs/options.md). A report of an earlier session must not be taken for this one's.
	rm -f reports/latest/verdicts.json
	{ $(BIN)/python -m pytest $(CLAIMS) -n auto --tier $(TIER) $(addprefix --budget ,$(BUDGET)) $(ARGS) $(BASELINE) --report-dir reports/latest || [ $$? -eq 1 ]; } && \
	$(BIN)/embinit check reports/latest/verdicts.json $(BASELINE)

# Installs only; then, for example: .venv/bin/pytest claims/ -k finding_1
install: $(VENV)/installed-claims

retrain: $(VENV)/installed$(if $(filter micro,$(TIER)),-claims)
	$(BIN)/embinit check $(REFERENCE)/verdicts.json --retrain $(RUNS)

# A file's tests share what one of them trained. Each process has half of the files, and takes over half
# of the other's rest when it is done, so that they mostly stay together and both end at once.
test: $(VENV)/installed
	$(BIN)/python -m pytest tests/ -n 2 --dist worksteal -m "not nightly" $(ARGS)

test-nightly: $(VENV)/installed-nightly
	EMBINIT_NIGHTLY=1 $(BIN)/python -m pytest tests/ -n 2 --dist loadfile $(ARGS)

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/embinit report $(wildcard $(TIERS:%=reports/reference/%/verdicts.json)) --to site/report.html

build: $(VENV)/installed-build
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m build --wheel studies --outdir dist
	$(BIN)/twine check --strict dist/*

results: $(VENV)/installed
	$(BIN)/python benchmarks/results.py

bless: $(VENV)/installed
	@grep -q '"tier": *"$(TIER)"' reports/latest/verdicts.json || \
	{ echo "reports/latest is not of tier $(TIER); name its own by TIER=" >&2; exit 4; }
	$(BIN)/embinit bless reports/latest --to $(REFERENCE) $(ARGS)
	@# The runs that ARGS=--keep leaves in the reference stay; without it the file is made anew.
	$(if $(ARGS),,rm -f $(REFERENCE)/runs.jsonl.xz)
	$(BIN)/embinit runs --of reports/latest/verdicts.json --to $(REFERENCE)/runs.jsonl.xz
	$(BIN)/python benchmarks/results.py

# What claims on the synthetic language need; the rest is for real text and for embinit's own tests.
$(VENV)/installed-claims: pyproject.toml studies/pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "embinit needs Python 3.11 or newer; name one: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --constraint constraints.txt torch
	$(BIN)/python -m pip install --constraint constraints.txt --editable '.[vectors]'
	$(BIN)/python -m pip install --quiet --no-deps --editable ./studies
	touch $@

$(VENV)/installed: $(VENV)/installed-claims
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

$(VENV)/installed-%: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$*]'
	touch $@

clean:
	rm -rf $(VENV) .embinit dist mutants site reports/latest
