#!/usr/bin/env bash
# Run all tests on every Python that the classifiers name and this machine has, then the wheel as a user installs it.
set -euo pipefail
cd "$(dirname "$0")/.."

find_python() {  # print the interpreter of a version: of pyenv, else of PATH; nothing if there is none
  local python
  for python in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python "$(command -v "python$1" || true)"; do
    if [ -x "$python" ] && "$python" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
      echo "$python"
      return
    fi
  done
}

summary=()
failed=0
for version in 3.10 3.12 3.13; do
  python=$(find_python "$version")
  if [ -z "$python" ]; then
    summary+=("Python $version: not found, nothing shown")
  elif make VENV=".venv-$version" PYTHON="$python" test test-hard test-docs; then
    summary+=("Python $version: passed")
  else
    summary+=("Python $version: FAILED")
    failed=1
  fi
done

if bash scripts/test_wheel.sh; then summary+=("wheel: passed"); else summary+=("wheel: FAILED") && failed=1; fi

printf '%s\n' "${summary[@]}"
exit $failed
