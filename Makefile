# Commands for a fresh machine with Python 3.11 or newer and a package index:
#   make demo    protects a bundled example and shows what came out
#   make app     opens the same example in the browser
#   make test    runs the whole test suite
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Read again by each process that tests start, and rewritten by pytest: it is worth keeping.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo app test test-long torture check judge bench papers clean

demo: $(VENV)/.installed
	@$(BIN)/microagg demo

app: $(VENV)/.serving
	@$(BIN)/microagg app --demo

test: $(VENV)/.developing
	@$(BIN)/python -m pytest --numprocesses auto

# Every property on so many times as many examples, and on others each time.
EXAMPLES ?= 20
test-long: $(VENV)/.developing
	@MICROAGG_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest --numprocesses auto

# For as long as one likes: make torture SECONDS=60; what failed is tried again by its seed.
SECONDS ?= 3600
torture: $(VENV)/.developing
	@$(BIN)/python -m tests.test_torture $(SECONDS) $(SEED)

check: $(VENV)/.developing
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

judge: .venv-judge/.installed

# Every table and figure of the papers; small parts of them: make papers QUICK=1.
papers: $(VENV)/.benchmarking
	@$(BIN)/python benchmarks/papers/all.py $(if $(QUICK),--quick)

bench: papers
	@$(BIN)/python benchmarks/speed/ratios.py
	@$(BIN)/python benchmarks/speed/univariate.py
	@$(BIN)/python benchmarks/speed/grouping.py
	@$(BIN)/python benchmarks/speed/protect.py
	@$(BIN)/python benchmarks/speed/engines.py
	@$(BIN)/python benchmarks/papers/best.py forest cells
	@$(BIN)/python benchmarks/audit/private.py
	@$(BIN)/python benchmarks/audit/attacks.py
	@$(BIN)/python benchmarks/index.py

clean:
	rm -rf $(VENV) .venv-judge demo

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "microagg needs Python 3.11 or newer; set PYTHON=python3.11 or the like")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@touch $@

$(VENV)/.installed: $(VENV)/.created pyproject.toml
	@echo "installing microagg into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.serving: $(VENV)/.installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[app]"
	@touch $@

$(VENV)/.developing: $(VENV)/.installed
	@echo "installing the test tools into $(VENV)"
	@PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	@touch $@

$(VENV)/.benchmarking: $(VENV)/.developing
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	@touch $@

# A program of other people that counts k on what we write; its pins need a home of their own.
.venv-judge/.installed:
	@echo "installing pycanon into .venv-judge"
	@$(PYTHON) -m venv .venv-judge
	@.venv-judge/bin/python -m pip install --quiet --disable-pip-version-check pycanon==1.3.6
	@touch $@
