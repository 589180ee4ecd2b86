#!/usr/bin/env bash
# Run all tests on Python 3.10, 3.12 and 3.13 where found (`make test` has 3.11), with the notebooks of docs/, then the
# wheel as a user installs it.
# torch is its build for CPUs (PyPI's brings gigabytes of CUDA). TORCH_WHEELS names another page or folder of wheels,
# PYTHONS the versions, as in PYTHONS=3.12.
set -euo pipefail
cd "$(dirname "$0")/.."
wheels=${TORCH_WHEELS:-https://download.pytorch.org/whl/cpu/torch/}
torch=$(grep '^torch==' constraints.txt)

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
for version in ${PYTHONS:-3.10 3.12 3.13}; do
  python=$(find_python "$version")
  if [ -z "$python" ]; then
    summary+=("Python $version: not found, nothing shown")
    continue
  fi
  venv=.venv-$version
  options=(VENV="$venv" PYTHON="$python" EXTRAS=data,notebooks)
  result=FAILED lacking=
  if make "${options[@]}" setup; then
    install_torch || echo "no CPU build of $torch for Python $version at $wheels: the tests that need it skip"
    lacking=$(missing)
    if make --keep-going "${options[@]}" test test-hard test-docs; then result=passed; fi
  fi
  [ "$result" = passed ] || failed=1
  summary+=("Python $version: $result${lacking:+; not installed, so that their tests were skipped: $lacking}")
done

if bash scripts/test_wheel.sh; then summary+=("wheel: passed"); else summary+=("wheel: FAILED") && failed=1; fi

printf '%s\n' "${summary[@]}"
exit $failed
