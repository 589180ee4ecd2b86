#!/usr/bin/env bash
# Run the tests on Python 3.10, 3.12 and 3.13 where found (`make test` has 3.11): all on the last, and on the others
# without the slow and the hard ones; the notebooks and the site of docs/; the tests of ROOMS with the oldest and the
# newest dependencies that pyproject.toml allows; then the wheel as a user installs it.
# torch is its build for CPUs (PyPI's brings gigabytes of CUDA). TORCH_WHEELS names another page or folder of wheels,
# PYTHONS the versions, as in PYTHONS=3.12. A warning is an error, except those of the oldest dependencies.
set -euo pipefail
cd "$(dirname "$0")/.."
wheels=${TORCH_WHEELS:-https://download.pytorch.org/whl/cpu/torch/}
torch=$(grep '^torch==' constraints.txt)
ROOMS=(tests/store tests/core tests/read tests/dedup tests/cli)
export DATAPREP_KILLS=3 DATAPREP_REPEATS=5  # more than in .ci/run

find_python() {  # print the interpreter of a version: of pyenv, else of PATH; nothing if there is none
  local python
  for python in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python "$(command -v "python$1" || true)"; do
    if [ -x "$python" ] && "$python" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
      echo "$python"
      return
    fi
  done
}

install_torch() {  # into $venv, unless it has one
  "$venv/bin/python" -c "import torch" 2>/dev/null || "$venv/bin/python" -m pip install --disable-pip-version-check \
    --quiet -c constraints.txt --find-links "$wheels" "$torch+cpu"
}

missing() {  # print which packages $venv lacks, of those that a version of Python or a machine may lack
  "$venv/bin/python" -c 'from importlib.util import find_spec as f
print(*[name for name in ("torch", "fasttext", "kenlm") if not f(name)])'
}

summary=()
failed=0
versions=(${PYTHONS:-3.10 3.12 3.13})
for version in "${versions[@]}"; do
  python=$(find_python "$version")
  if [ -z "$python" ]; then
    summary+=("Python $version: not found, nothing shown")
    continue
  fi
  venv=.venv-$version
  options=(VENV="$venv" PYTHON="$python" EXTRAS=data,notebooks)
  result=FAILED lacking=
  if [ "$version" = "${versions[-1]}" ]; then tests=(test test-hard test-docs); else tests=(test-fast test-docs); fi
  if make "${options[@]}" setup; then
    install_torch || echo "no CPU build of $torch for Python $version at $wheels: the tests that need it skip"
    lacking=$(missing)
    if make --keep-going "${options[@]}" "${tests[@]}"; then result=passed; fi
  fi
  [ "$result" = passed ] || failed=1
  summary+=("Python $version, ${tests[*]}: $result${lacking:+; not installed, so that their tests were skipped: $lacking}")
done

# The notebooks need torch, which a version of Python above may lack.
if make EXTRAS=wheels,notebooks VENV=.venv-notebooks setup &&
  .venv-notebooks/bin/python -m pytest tests/docs/test_notebooks.py; then
  summary+=("notebooks: passed")
else
  summary+=("notebooks: FAILED") && failed=1
fi
if make docs; then summary+=("site: passed"); else summary+=("site: FAILED") && failed=1; fi

# $1: oldest or newest; $2: how uv chooses versions; then options of pytest.
test_with() {
  local kind=$1 how=$2 python=.venv-$1/bin/python
  shift 2
  python3 -m venv ".venv-$kind" && "$python" -m pip install --disable-pip-version-check --quiet uv &&
    "$python" -m uv pip install --quiet -p "$python" --resolution "$how" --upgrade -e ".[data]" &&
    "$python" -m uv pip install --quiet -p "$python" duckdb hypothesis matplotlib psutil pytest pytest-xdist &&
    "$python" -m pytest -n 2 --dist loadfile -m "not slow" "$@" "${ROOMS[@]}"
}
if test_with oldest lowest-direct -W default; then summary+=("oldest dependencies: passed"); else
  summary+=("oldest dependencies: FAILED") && failed=1
fi
if test_with newest highest; then summary+=("newest dependencies: passed"); else
  summary+=("newest dependencies: FAILED") && failed=1
fi

if bash scripts/test_wheel.sh; then summary+=("wheel: passed"); else summary+=("wheel: FAILED") && failed=1; fi

printf '%s\n' "${summary[@]}"
exit $failed
