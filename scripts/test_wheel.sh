#!/usr/bin/env bash
# Build the wheel and use it as a user does: its command, and the README's example from texts to token shards.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
rm -rf out/wheel && mkdir -p out/wheel
"$python" -m pip wheel --disable-pip-version-check --quiet --no-deps --wheel-dir out/wheel .
"$python" -m venv out/wheel/venv
out/wheel/venv/bin/python -m pip install --disable-pip-version-check --quiet -c constraints.txt out/wheel/*.whl
awk '/^```python/ {on = 1; next} /^```/ {on = 0} on' README.md >out/wheel/example.py
ln -s ../../sample_data out/wheel/sample_data
cd out/wheel
venv/bin/dataprep --help >help.txt
venv/bin/python example.py
