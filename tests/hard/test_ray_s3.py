"""Several raylets that write to an object store: equal parts, and the bytes that one process writes into a folder.

Needs ray, s3fs, and the program `moto_server`, which is installed apart from dataprep, on the PATH.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

import dataprep as dp
import test_equal_parts

ray, s3fs = pytest.importorskip("ray"), pytest.importorskip("s3fs")
SERVER = shutil.which("moto_server")
pytestmark = pytest.mark.skipif(SERVER is None, reason="there is no moto_server")
CASES = [stages for stages in test_equal_parts.FIRST if isinstance(stages[-1], (dp.Exact, dp.MinHash, dp.Bloom))]
RAYLETS, REPEAT = 3, 5


@pytest.fixture(scope="module")
def bucket():
    """The URL of an empty bucket, which all processes reach."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    patch = pytest.MonkeyPatch()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        patch.setenv(name, "testing")
    patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    words = [SERVER, "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        for _ in range(300):
            with socket.socket() as asked:
                if not asked.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.1)
        s3fs.S3FileSystem().mkdir("laws")
        yield "s3://laws"
        server.terminate()
    patch.undo()


@pytest.fixture(scope="module")
def cluster(bucket):
    """A cluster of several raylets."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    for _ in range(RAYLETS - 1):
        made.add_node(num_cpus=1)
    yield made.address
    ray.shutdown()
    made.shutdown()


def contents(home):
    """The bytes of each file of a folder; the lists of input files and journals have paths of this machine."""
    home = str(home)
    fs = s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False) if "://" in home else None
    root = home.removeprefix("s3://").rstrip("/")
    paths = fs.find(root) if fs else [str(path) for path in Path(root).rglob("*") if path.is_file()]
    read = fs.cat_file if fs else lambda path: Path(path).read_bytes()
    kept = [path for path in paths if path.rpartition("/")[2] not in ("origin.json", ".dataprep-journal")]
    return {path[len(root) + 1 :]: read(path) for path in kept}


@pytest.mark.parametrize("stages", CASES, ids=lambda stages: stages[-1].name)
def test_raylets_share_equal_parts(stages, tmp_path, bucket, cluster):
    """Runs on three raylets write into the bucket what one process writes into a folder."""
    docs = test_equal_parts.equal_parts(tmp_path / "in", test_equal_parts.needed(stages), times=2)
    pipeline = dp.Pipeline(dp.Filter(test_equal_parts.useless), *stages)
    pipeline.run(docs, str(tmp_path / "serial"))
    expected = contents(tmp_path / "serial")
    for n in range(REPEAT):
        out = f"{bucket}/{stages[-1].name}-{n}"
        pipeline.run(docs, out, dp.tools.Ray(cluster))
        found = contents(out)
        assert sorted(found) == sorted(expected)
        assert [name for name in expected if found[name] != expected[name]] == []
