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

# The wheel, without extras: its command, and the example of the README from read to token shards.
wheel() (
  set -e
  rm -rf out/wheel && mkdir -p out/wheel
  "${PYTHON:-python3}" -m pip wheel --disable-pip-version-check --quiet --no-deps --wheel-dir out/wheel .
  "${PYTHON:-python3}" -m venv out/wheel/venv
  out/wheel/venv/bin/python -m pip install --disable-pip-version-check --quiet -c constraints.txt out/wheel/*.whl
  awk '/^```python/ {on = 1; next} /^```/ {on = 0} on' README.md >out/wheel/example.py
  ln -s ../../sample_data out/wheel/sample_data
  cd out/wheel
  venv/bin/dataprep --help >/dev/null
  venv/bin/python example.py
)
if wheel; then summary+=("wheel: passed"); else summary+=("wheel: FAILED") && failed=1; fi

printf '%s\n' "${summary[@]}"
exit $failed
