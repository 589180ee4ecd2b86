"""A Resource is loaded once per process, by scripts too, and its version decides about finished work."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

import dataprep as dp
from dataprep import extend, resource
from dataprep.errors import PlanError
from dataprep.store.key import key

SCRIPT = """
import os
from dataclasses import dataclass
import pyarrow as pa
import dataprep as dp
from dataprep import extend

def load(place):
    with open(place, "a") as f:
        f.write(f"{os.getpid()}\\n")
    return str.upper

@dataclass(frozen=True, kw_only=True)
class Shout(extend.Stage):
    model: extend.Resource

    def __call__(self, batches, stats):
        for batch in batches:
            texts = [self.model.get()(text) for text in batch["text"].to_pylist()]
            yield batch.set_column(batch.schema.get_field_index("text"), "text", pa.array(texts, pa.large_string()))

if __name__ == "__main__":
    import functools, sys
    model = extend.Resource(functools.partial(load, sys.argv[1] + "/loads"), version="1")
    same = lambda text: text == model.get()(text)
    docs = dp.read(sys.argv[1] + "/*.jsonl")
    pipe = dp.Pipeline(Shout(model=model), dp.Filter(same))
    done = pipe.run(docs, out=sys.argv[1] + "/out", runner=dp.tools.Local(2))
    print(done.count)
"""


def test_a_script_loads_once_per_worker(tmp_path):
    """Two stages and ten files: each of the two workers loads the model once, the parent never."""
    for i in range(10):
        (tmp_path / f"{i}.jsonl").write_text("".join(json.dumps({"text": f"text {i} {j}"}) + "\n" for j in range(3)))
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py", str(tmp_path)], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    loads = (tmp_path / "loads").read_text().splitlines()
    assert done.stdout.strip() == "30"
    assert len(loads) == len(set(loads)) in (1, 2)


@dataclass(frozen=True, kw_only=True)
class Uses(extend.Stage):
    """A stage with a model."""

    model: extend.Resource


def load(*, device="cpu"):
    """Return what it was given."""
    return device, os.getpid()


def other():
    """Return another object."""
    return 2


def named(name):
    """Return an object with a name."""
    return name


def by_global(text):
    return MODEL.get() != text


MODEL = extend.Resource(other, version=1)


def test_the_key_depends_on_the_version(monkeypatch):
    """Of a stage, and of a plain function that uses one as a global; and on the loader's name and arguments."""
    made = [
        extend.Resource(load, version=1), extend.Resource(load, version=2), extend.Resource(other, version=1),
        *(extend.Resource(functools.partial(named, name), version=1) for name in "ab"),
    ]  # fmt: skip
    assert len({key(Uses(model=one)) for one in made}) == len(made)
    assert key(Uses(model=extend.Resource(load, version=1))) == key(Uses(model=made[0]))
    first = key(dp.Filter(by_global))
    monkeypatch.setattr(f"{__name__}.MODEL", extend.Resource(other, version=2))
    assert key(dp.Filter(by_global)) != first
    assert [one.get() for one in made[2:]] == [2, "a", "b"]


def test_loaders_of_one_name_are_told_apart():
    """Two lambdas with equal versions load their own objects, and each only once."""
    loads = []
    a, b = (extend.Resource(lambda name=name: loads.append(name) or [name], version=1) for name in "ab")
    assert a.get() is a.get() != b.get()
    assert b.get() is b.get()
    assert loads == ["a", "b"]


def test_gpus_are_shared_in_turns(monkeypatch):
    """A loader with a parameter `device` gets the GPU of its worker, or the CPU."""
    cuda = SimpleNamespace(is_available=lambda: True, device_count=lambda: 2)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda, __spec__="found"))
    assert extend.Resource(load, version="device").get()[0].startswith("cuda:")
    process = resource.multiprocessing.current_process()
    found = []
    for identity in ((), (1,), (2,), (3,), (4, 1)):
        monkeypatch.setattr(process, "_identity", identity)
        found.append(resource.device())
    assert found == ["cuda:0", "cuda:0", "cuda:1", "cuda:0", "cuda:1"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: extend.Resource("model.bin", version=1), "must be given a loader function, not"),
        (lambda: extend.Resource(load, version=""), "version='' must be"),
        (lambda: extend.Resource(load, version=None), "version=None must be"),
        (lambda: extend.Resource(load, version=True), "version=True must be"),
        (lambda: extend.Resource(named, version=1), "needs the parameter name"),
    ],
    ids=["no function", "empty", "none", "truth", "parameter"],
)
def test_a_wrong_resource_is_one_sentence(make, message):
    """Before any work."""
    with pytest.raises(PlanError, match=message):
        make()
    with pytest.raises(TypeError):
        extend.Resource(load, 1)  # which of its two values is the version is said


def test_one_loader_may_load_several_things():
    """With another version, or other arguments, another object is loaded, once each."""
    calls = []

    def load(name="a"):
        calls.append(name)
        return [name]

    made = [extend.Resource(load, version=1), extend.Resource(load, version=2),
            extend.Resource(functools.partial(load, "b"), version=1)]  # fmt: skip
    found = [one.get() for one in made]
    assert [one.get() for one in made] == found == [["a"], ["a"], ["b"]]
    assert all(again is first for again, first in zip((one.get() for one in made), found, strict=True))
    assert (calls, found[0] is found[1]) == (["a", "a", "b"], False)


def test_a_loader_without_source_is_known_by_its_name():
    """Such as a function of another language; its version tells what it loads."""
    made = {}
    exec("def nowhere(): return [1]", made)  # noqa: S102 - a function without source
    one, other = (extend.Resource(made["nowhere"], version=n) for n in (1, 2))
    assert repr(one) == "Resource(nowhere, version=1)"
    assert one.get() is one.get() is not other.get()


def test_a_loader_may_be_a_class_or_a_compiled_function(monkeypatch):
    """Whose parameters are not known: nothing is given to it."""
    monkeypatch.setattr(resource, "device", lambda: "here")
    assert extend.Resource(dict, version=1).get() == {}
    assert extend.Resource(functools.partial(dict, a=1), version=1).get() == {"a": 1}

    def many(*some, device="none", **more):
        return some, device, more

    assert extend.Resource(many, version=1).get() == ((), "here", {})


@pytest.mark.parametrize(
    ("has_torch", "mps", "expected"), [(False, True, "cpu"), (True, True, "mps"), (True, False, "cpu")]
)
def test_without_a_gpu_there_is_the_chip_of_apple_or_none(monkeypatch, has_torch, mps, expected):
    """And torch is not imported to learn that it is not there."""
    off = SimpleNamespace(is_available=lambda: False)
    torch = SimpleNamespace(cuda=off, backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps)))
    monkeypatch.setattr(resource.importlib.util, "find_spec", lambda name: torch if has_torch else None)
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert resource.device() == expected
