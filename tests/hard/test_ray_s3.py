"""Several raylets that write to an object store: equal parts, and the bytes that one process writes into a folder.

Needs ray, s3fs, and the program `moto_server`, which is installed apart from dataprep, on the PATH.
"""

from __future__ import annotations

import pytest

import dataprep as dp
import test_equal_parts
from fixtures.s3 import SERVER, contents, served

ray, s3fs = pytest.importorskip("ray"), pytest.importorskip("s3fs")
pytestmark = pytest.mark.skipif(SERVER is None, reason="there is no moto_server")
CASES = [stages for stages in test_equal_parts.FIRST if isinstance(stages[-1], (dp.Exact, dp.MinHash, dp.Bloom))]
RAYLETS, REPEAT = 3, 5


@pytest.fixture(scope="module")
def bucket():
    """The URL of an empty bucket, which all processes reach."""
    with pytest.MonkeyPatch.context() as patch, served("laws") as url:
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        yield url


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
