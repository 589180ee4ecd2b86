# Every target calls `setup` first; receipts (not file times) decide what a run redoes.
PYTHON   ?= python3
PIPELINE ?= pipelines/demo.py
OUT      ?= out/$(basename $(notdir $(PIPELINE)))
ARGS     ?=
EXTRAS   ?= wheels
VENV     ?= .venv
BIN      := $(VENV)/bin
STAMP    := $(VENV)/installed
WORKERS  ?= -n 2 --dist loadfile --no-loadscope-reorder
# Tests write files by the hundred thousand: in memory if it has 4 GB for them, which takes an eighth of their time away.
MEMORY   := $(shell df -k /dev/shm 2>/dev/null | awk '$$4 > 4000000 && $$6 == "/dev/shm" {print $$6}')
PYTEST    = $(if $(MEMORY),TMPDIR=$(MEMORY)) $(BIN)/python -m pytest $(WORKERS)
PIP      := $(BIN)/python -m pip --disable-pip-version-check
UV       := $(BIN)/python -m uv
export UV_SYSTEM_CERTS ?= 1
CXX_THERE = $(shell command -v c++ || command -v g++ || command -v clang++)
comma    := ,
# Python keeps what it compiles even if the environment says PYTHONDONTWRITEBYTECODE: the tests start hundreds of
# processes, and each would compile its imports anew, which doubles its start.
export PYTHONDONTWRITEBYTECODE =
STEPS    := ingest filter dedup-exact dedup-minhash dedup-suffix tokenizer encode train report
KERNELS   = $(BIN)/python scripts/make_kernels.py
SHIPPED  := src/dataprep/unicode/compiled_kernels
COURSE   := persona finetune
STAGES   := language perplexity quality dedup-url dedup-paragraph dedup-bloom dedup-semantic chats

.DEFAULT_GOAL := help
.PHONY: help setup kernels wheel demo docs test test-fast test-hard test-docs test-all test-suites check release mutate bench bench-growth bench-peers bench-gpu compare clean chat $(STEPS) $(COURSE) $(STAGES)

help:  ## this list
	@grep -hE '^[a-z][a-z -]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12
	@echo "one step: make $(STEPS) [PIPELINE=$(PIPELINE)] [OUT=$(OUT)] [ARGS=--workers=2]"
	@echo "from chats to a model: make $(COURSE) chat [CHATS=path/to/exports CHATS_PERSON=NAME]"
	@echo "one stage on the samples: make $(STAGES)"

# $(call install,EXTRAS): uv does in seconds what pip does in minutes. If its wheel cannot be had, or if it fails, as
# behind a proxy whose certificate only the system knows, pip does the work.
define install
@echo "installing [$(1)] into $(VENV); the first time this downloads$(if $(findstring perplexity,$(1)), and compiles fasttext and kenlm), which takes minutes"
@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
@$(UV) --version >/dev/null 2>&1 || $(PIP) install --quiet -c constraints.txt uv 2>/dev/null || true
@{ $(UV) --version >/dev/null 2>&1 && \
  $(UV) pip install -p $(BIN)/python --quiet $(addprefix --find-links ,$(PIP_FIND_LINKS)) -c constraints.txt -e ".[$(1)]"; \
} || { echo "uv cannot install the packages; pip, which takes minutes, does it"; \
  $(PIP) install --quiet -c constraints.txt -e ".[$(1)]"; }
@touch $@
endef

# EXTRAS=data leaves torch out. fasttext and kenlm compile; they are left out if there is no C++ compiler.
$(STAMP): pyproject.toml constraints.txt
	$(if $(CXX_THERE),,@echo "no C++ compiler found: fasttext and kenlm are left out, and their tests skip")
	$(call install,$(EXTRAS)$(if $(CXX_THERE),$(comma)langid$(comma)perplexity)$(comma)dev)
	@$(KERNELS) || echo "kernels will be compiled when they are first called"

$(STAMP)-demo: pyproject.toml constraints.txt
	$(call install,train)

setup: $(STAMP)  ## create .venv and install everything, pinned by constraints.txt

kernels: setup  ## compile the kernels of scripts/kernels.txt, as setup does, after their code changed (ARGS=--all: all)
	@$(KERNELS) $(ARGS)

# For this system, version of Python and of Numba, and all its processors; in any other, kernels compile at first use.
wheel: setup  ## build a wheel with compiled kernels into out/wheels
	@rm -rf $(SHIPPED) build/lib
	@$(KERNELS) --wheel
	@$(PIP) wheel --quiet --no-deps --wheel-dir out/wheels .
	@rm -rf $(SHIPPED)

demo: $(if $(wildcard $(STAMP)),setup,$(STAMP)-demo)  ## watch real text become a trained model (pipelines/demo.py)
	@$(BIN)/dataprep demo --out out/demo $(ARGS)

test: setup  ## run the tests, but for test-hard and test-docs
	@$(PYTEST) $(ARGS)

test-fast: setup  ## run the tests that take a moment, while you work
	@$(PYTEST) -m "not slow" $(ARGS)

test-hard: setup  ## kill runs, fill disks, run heavy data and other runners
	@$(PYTEST) tests/hard $(ARGS)

test-docs: setup  ## run what the README, docs/ and pipelines/ say
	@$(PYTEST) tests/docs $(ARGS)

test-all:  ## these on Python 3.10, 3.12 and 3.13 where found, other dependencies, the notebooks, the wheel
	@bash scripts/test_all.sh

test-suites: setup  ## run public suites that come as packages, and print what is right of each half
	@PYTHONPATH=scripts $(BIN)/python -m suites $(ARGS)

docs: setup  ## build the documentation site into out/site/html; broken links are errors (ARGS=--deploy: as a version)
	@$(PIP) install --quiet -c constraints.txt -e ".[docs]"
	@$(BIN)/python scripts/make_docs.py $(ARGS)

check: setup  ## lint and type-check
	@$(BIN)/ruff check .
	@$(BIN)/mypy

release:  ## check the tree, run everything, build the sdist and the wheel, tag the commit
	@python3 scripts/release.py $(ARGS)

mutate: setup  ## list small changes of FILE= that its TESTS= do not notice
	@$(PIP) install --quiet -c constraints.txt -e ".[mutate]"
	@$(BIN)/python scripts/mutate.py $(FILE) $(TESTS)

bench: setup  ## measure speed and memory into benchmarks/RESULTS.md
	@$(BIN)/python -m benchmarks $(ARGS)

bench-growth: setup  ## count what deduplication opens and reads at 10, 100 and 1,000 parts (ARGS="--only MinHash")
	@$(BIN)/python benchmarks/bench_opens.py $(ARGS)

bench-peers: setup  ## measure other programs beside dataprep, those that are installed (ARGS=--install: install them)
	@$(BIN)/python benchmarks/bench_peers.py $(ARGS)

bench-gpu: setup  ## measure the trainer on a GPU, in about 8 minutes: MFU, data, masks, checkpoints, QLoRA (--out DIR)
	@$(BIN)/python benchmarks/bench_gpu.py $(ARGS)

compare: setup  ## nine ways to deduplicate one corpus, side by side (pipelines/compare_dedup.py)
	@$(BIN)/dataprep run pipelines/compare_dedup.py --out out/compare $(ARGS)

chat: finetune  ## talk to a model that was fine-tuned on the sample chats (pipelines/course.py)
	@$(BIN)/dataprep chat $(OUT)/finetune/model

chat $(COURSE): PIPELINE = pipelines/course.py
$(STAGES): PIPELINE = pipelines/stages.py
$(STEPS) $(COURSE) $(STAGES): setup
	@$(BIN)/dataprep run $(PIPELINE) --to $@ --out $(OUT) $(ARGS)

clean: setup  ## remove what runs wrote under out/, and nothing else
	@$(BIN)/dataprep prune --all out
