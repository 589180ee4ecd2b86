#!/usr/bin/env bash
# Build the sdist, and from it the wheel, and use that as a user does: its commands, the README's example from texts to
# token shards, and the demo in an empty folder. torch is its build for CPUs, see test_all.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
unset PYTHONPATH
wheels=${TORCH_WHEELS:-https://download.pytorch.org/whl/cpu/torch/}
rm -rf out/wheel build/lib && mkdir -p out/wheel/empty  # what setuptools left in build/lib would go into the new wheel
"${PYTHON:-python3}" -m venv out/wheel/venv
pip="out/wheel/venv/bin/python -m pip --disable-pip-version-check --quiet"
$pip install build
out/wheel/venv/bin/python -m build --outdir out/wheel . >out/wheel/build.txt
$pip install -c constraints.txt out/wheel/*.whl
awk '/^```python/ {on = 1; next} /^```/ {on = 0} on' README.md >out/wheel/example.py
ln -s ../../sample_data out/wheel/sample_data
cd out/wheel
venv/bin/dataprep --help >help.txt
venv/bin/python example.py
if venv/bin/dataprep demo 2>without.txt; then exit 1; fi
grep -q "pip install 'dataprep-lm\[train\]'" without.txt
cd ../..
$pip install -c constraints.txt 'dataprep-lm[robots]'  # what messages tell a user to run finds the installed package
out/wheel/venv/bin/python -c "import protego"
$pip install -c constraints.txt --find-links "$wheels" "$(grep '^torch==' constraints.txt)+cpu"
(cd out/wheel/empty && ../venv/bin/dataprep demo >../demo.txt && ../venv/bin/dataprep why out/demo 5:9487 >../why.txt)
grep -q lorem_ipsum out/wheel/why.txt
test -s out/wheel/empty/out/demo/report/report.html
