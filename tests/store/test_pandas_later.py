"""pandas is imported when somebody wants it, and pyarrow knows it from then on."""

from __future__ import annotations

import subprocess
import sys

import pytest

RUN = """
import sys
import pyarrow as pa
import dataprep as dp
docs = dp.Pipeline().run(dp.read(sys.argv[1]), sys.argv[2])
assert docs.table()["text"].to_pylist() == ["one", "two"]
assert "pandas" not in sys.modules
"""
ENDS = {
    "the user": "import importlib.util; assert importlib.util.find_spec('pandas'); import pandas as pd",
    "pyarrow": "import sys; docs.table().to_pandas(); pd = sys.modules['pandas']",
    "dataprep": "import sys; docs.to_pandas(); pd = sys.modules['pandas']",
}
SAME = """
assert pa.array(pd.Series([1.0, float("nan")])).null_count == 1
assert pa.Table.from_pandas(pd.DataFrame({"a": ["x"]})).to_pylist() == [{"a": "x"}]
assert [type(finder).__module__ for finder in sys.meta_path if "dataprep" in type(finder).__module__] == []
assert "dataprep" not in type(pd.__loader__).__module__ + type(pd.__spec__.loader).__module__
"""


@pytest.mark.parametrize("who", ENDS)
def test_who_imports_pandas(tmp_path, who) -> None:
    """A run does not; after an import, a column of pandas has the nulls that it has without dataprep."""
    (tmp_path / "in.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
    code = RUN + ENDS[who] + SAME
    subprocess.run([sys.executable, "-c", code, tmp_path / "in.jsonl", tmp_path / "out"], check=True)
