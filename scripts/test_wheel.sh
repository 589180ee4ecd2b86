#!/usr/bin/env bash
# Build the wheel and use it as a user does: its command, and the README's example from texts to token shards.
set -euo pipefail
cd "$(dirname "$0")/.."
unset PYTHONPATH
rm -rf out/wheel build/lib && mkdir -p out/wheel  # what setuptools left in build/lib would go into the new wheel
"${PYTHON:-python3}" -m venv out/wheel/venv
pip="out/wheel/venv/bin/python -m pip --disable-pip-version-check --quiet"
$pip wheel --no-deps --wheel-dir out/wheel .
$pip install -c constraints.txt out/wheel/*.whl
awk '/^```python/ {on = 1; next} /^```/ {on = 0} on' README.md >out/wheel/example.py
ln -s ../../sample_data out/wheel/sample_data
cd out/wheel
venv/bin/dataprep --help >help.txt
venv/bin/python example.py
cd ../..
$pip install -c constraints.txt 'dataprep-lm[robots]'  # what messages tell a user to run finds the installed package
out/wheel/venv/bin/python -c "import protego"
