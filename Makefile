# Every target calls `setup` first; receipts (not file times) decide what a run redoes.
PYTHON   ?= python3
PIPELINE ?= pipelines/demo.py
OUT      ?= out/$(basename $(notdir $(PIPELINE)))
ARGS     ?=
BIN      := .venv/bin
STAMP    := .venv/installed
STEPS    := ingest filter dedup-exact dedup-minhash dedup-suffix tokenizer encode train report

.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench compare clean $(STEPS)

help:  ## this list
	@grep -hE '^[a-z][a-z -]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12
	@echo "one step: make $(STEPS) [PIPELINE=$(PIPELINE)] [OUT=$(OUT)] [ARGS=--workers=2]"

# fasttext and kenlm compile; without a C++ compiler the extra `wheels` is `all` without those two.
$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@if { command -v c++ || command -v g++ || command -v clang++; } >/dev/null; then extras=all,dev; else extras=wheels,dev; \
	  echo "no C++ compiler found: fasttext and kenlm are left out, and their tests skip"; fi; \
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt -e ".[$$extras]"
	@touch $@

setup: $(STAMP)  ## create .venv and install everything, pinned by constraints.txt

demo: setup  ## watch real text become a trained model (pipelines/demo.py)
	@$(BIN)/dataprep run pipelines/demo.py --out out/demo $(ARGS)

test: setup  ## run all tests
	@$(BIN)/python -m pytest $(ARGS)

check: setup  ## lint and type-check
	@$(BIN)/ruff check .
	@$(BIN)/mypy

bench: setup  ## measure speed and memory into benchmarks/RESULTS.md
	@$(BIN)/python -m benchmarks $(ARGS)

compare: setup  ## nine ways to deduplicate one corpus, side by side (pipelines/compare_dedup.py)
	@$(BIN)/dataprep run pipelines/compare_dedup.py --out out/compare $(ARGS)

$(STEPS): setup
	@$(BIN)/dataprep run $(PIPELINE) --to $@ --out $(OUT) $(ARGS)

clean:  ## remove what runs wrote under out/
	@rm -rf out
