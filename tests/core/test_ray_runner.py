"""Ray without Ray: a module in its place that keeps the calls and does the work here; tests/hard starts a cluster."""

import contextlib
import pickle
import re
import sys
import types
from dataclasses import dataclass

import cloudpickle
import pytest

import dataprep as dp
from dataprep.core.run import elsewhere, ray_runner
from dataprep.core.run.context import Context, place_of
from dataprep.core.run.elsewhere import versions
from dataprep.core.run.ray_runner import Ray
from dataprep.core.run.runner import AHEAD, WORKER_BYTES, Local
from dataprep.dedup.membership.bloom_filter import FilterSize
from dataprep.dedup.membership.keys import LookUp, SetBits
from dataprep.errors import FunctionFailed, PlanError, ReadError, WorkerDied
from dataprep.store import files, lease
from dataprep.tokens.shards.writer import save


class RayError(Exception):
    """The base of all errors of Ray."""


class TaskError(RayError):
    """As Ray reports an error of a task."""

    def __init__(self, cause):
        super().__init__("of the task")
        self.cause = cause


class Crashed(RayError):
    """A worker ended."""


class Full(RayError):
    """Ray ended a worker for its memory."""


class NodeDied(RayError):
    """A machine was lost."""


class Lost(RayError):
    """A result was lost, with the machine that kept it."""


@pytest.fixture
def ray(monkeypatch, tmp_path):
    """The module in Ray's place: `inits` are the calls of init, `apart` the fourth arguments, `most` tasks at once.

    The task that began first ends first, but those of `slow_items` end last.
    """
    module = types.ModuleType("ray")
    module.inits, module.retries, module.options, module.apart, module.running, module.most = [], [], [], [], 0, 0
    module.slow_items, module.slow = [], []
    module.resources = {"CPU": 3.0, "memory": 4e9}
    named = {"RayError": RayError, "RayTaskError": TaskError, "WorkerCrashedError": Crashed, "OutOfMemoryError": Full}
    named |= {"NodeDiedError": NodeDied, "LocalRayletDiedError": NodeDied, "ObjectLostError": Lost}
    module.exceptions = types.SimpleNamespace(**named)
    module.nodes = lambda: [{"Alive": True, "Resources": module.resources}]
    module.is_initialized = lambda: bool(module.inits)
    module.init = lambda **given: module.inits.append(given)
    module.cluster_resources = lambda: module.resources

    def remote(max_retries, **options):
        module.retries.append(max_retries)
        module.options.append(options)

        def decorated(work):
            def start(theirs, path, folder, task, item, apart):
                module.apart.append(apart)
                module.running += 1
                module.most = max(module.most, module.running)

                def reference():
                    return work(theirs, path, folder, task, item, None)

                if getattr(cloudpickle.loads(item), "number", None) in module.slow_items:
                    module.slow.append(reference)
                return reference

            return types.SimpleNamespace(remote=start)

        return decorated

    def get(reference):
        module.running -= 1
        answer, error = reference()
        if error is not None and isinstance(raised := pickle.loads(error), RayError):
            raise raised  # as of the cluster, not of the task
        return answer, error

    def wait(references, num_returns, timeout=None, fetch_local=True):
        if fetch_local:  # for the next that ends
            assert num_returns == 1
            first = min(references, key=lambda reference: reference in module.slow)
            return [first], [reference for reference in references if reference is not first]
        assert num_returns == len(set(references))
        for reference in references:
            module.running -= 1
            with contextlib.suppress(Exception):
                reference()
        return references, []

    module.remote, module.get, module.wait = remote, get, wait
    monkeypatch.setitem(sys.modules, "ray", module)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))  # or a cluster of this machine would count
    return module


@dataclass
class Item:
    """Of a task."""

    number: int
    skips_bad: bool = False


def number(item):
    return item.number


def test_results_in_item_order_from_one_cluster(ray):
    """The cluster is joined once and quietly; twice as many tasks as CPUs are sent."""
    runner = Ray("auto")
    assert list(runner.map(number, [Item(n) for n in range(9)])) == list(range(9))
    assert list(runner.map(number, [])) == []
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
    assert ray.inits == [{"address": "auto", "runtime_env": None, **quiet}]
    assert (runner.workers, ray.most, set(ray.retries), set(ray.apart)) == (3, 6, {0}, {None})
    ray.resources = {}
    assert Ray().workers == 1
    ray.resources = {"CPU": 0.5}
    assert Ray().workers == 1


def test_a_slow_task_holds_up_no_other(ray):
    """While it works, later ones begin and end, up to a number that a worker may be ahead; results come in order."""
    ray.slow_items = [1]
    got = ray.get
    ended = []
    ray.get = lambda reference: ended.append(reference in ray.slow) or got(reference)
    assert list(Ray().map(number, [Item(n) for n in range(150)])) == list(range(150))
    assert ended.index(True) == AHEAD * 3
    assert ray.most == 6


@pytest.mark.parametrize("ends", ["copy", "original", "copy dies", "copy dies too often", "off"])
def test_slow_items_are_copied_at_the_end_of_a_pass(ray, monkeypatch, ends):
    """Once workers are idle; the first answer counts, and the other task is ended before the pass is."""
    now, got, killed, waited = [0.0], ray.get, [], []
    ray.slow_items = [7]

    def get(reference):
        if "dies" in ends and reference in ray.slow[1:2]:
            raise Crashed
        return got(reference)

    def wait(references, num_returns, timeout=None, fetch_local=True):
        if not fetch_local:
            waited.extend(references)
            return references, []
        now[0] += timeout or 1.0
        quick = [reference for reference in references if reference not in ray.slow]
        if not quick and now[0] > 60:
            return references[:1], []
        return (quick or references[1:] * (ends != "original"))[:1], []

    monkeypatch.setattr(ray_runner.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(ray, "get", get)
    monkeypatch.setattr(ray, "wait", wait)
    ray.cancel = lambda reference, force: force and killed.append(reference)
    results = Ray(copy_slow=ends != "off", max_retries=ends == "copy dies").map(number, [Item(n) for n in range(8)])
    if ends == "copy dies too often":
        with pytest.raises(WorkerDied, match=r"a worker ended 1 time during the task Item\(number=7"):
            list(results)
    else:
        assert list(results) == list(range(8))
    assert len(ray.slow) == {"off": 1, "copy dies": 3}.get(ends, 2)  # one copy at a time
    assert killed == waited == {"original": ray.slow[1:], "off": []}.get(ends, ray.slow[:1])
    assert (now[0] > 60) == (ends in ("original", "off"))


def test_a_cluster_that_grows_gets_more_tasks(ray, monkeypatch):
    """Twice as many as it can do at once, so that an autoscaler sees those that wait; but not with a memory limit."""
    monkeypatch.setattr(ray_runner, "LOOK", 0.0)
    for memory, most in ((None, 10), ("2400 MiB", 3)):
        ray.resources, ray.most = {"CPU": 3.0, "memory": 4e9}, 0
        results = Ray(memory=memory).map(number, [Item(n) for n in range(40)])
        assert next(results) == 0
        ray.resources = {"CPU": 5.0}
        assert list(results) == list(range(1, 40))
        assert ray.most == most


def test_limits_hold_in_a_process_of_their_own(ray):
    """A time limit, an equal share of memory (and no task that waits), and files that may be skipped."""
    items = [Item(n) for n in range(5)]
    assert list(Ray(memory="2400 MiB").map(number, items)) == list(range(5))
    assert (ray.most, set(ray.apart)) == (3, {Local(1, memory="800 MiB")})
    assert ray.options == [{"num_cpus": 1, "memory": 800 << 20, "resources": {}}]
    ray.apart.clear()
    assert list(Ray(timeout=9).map(number, items)) == list(range(5))
    assert set(ray.apart) == {Local(1, timeout=9)}
    ray.apart.clear()
    assert list(Ray().map(number, [Item(0, skips_bad=True), Item(1)])) == [0, 1]
    assert ray.apart == [Local(1), None]
    for limits in (("4GB",), (None, 2)):
        with pytest.raises(TypeError):
            Ray("auto", *limits)
    for wrong in ({"memory": "lots"}, {"timeout": 0}):
        with pytest.raises(PlanError):
            Ray(**wrong)


@pytest.mark.parametrize(
    ("error", "says"), [(Crashed(), "a worker ended"), (Full(), "memory ran out")], ids=["crashed", "full"]
)
def test_a_dead_worker_is_named(ray, error, says):
    """With the head of the task."""

    def dies(item):
        raise error

    with pytest.raises(WorkerDied) as died:
        list(Ray().map(dies, ["x" * 300]))
    assert str(died.value).startswith(f"{says} 3 times during the task {'x' * 200}; ")


@pytest.mark.parametrize("preempted", ["retry", "count"])
def test_a_lost_node_is_not_the_end_of_a_worker(ray, caplog, preempted):
    """However often nodes are lost, two ends of worker processes are allowed; "count" counts both."""
    errors, got = [NodeDied(), Crashed(), Lost(), NodeDied(), Full(), NodeDied()], ray.get

    def get(reference):
        answer = got(reference)
        if cloudpickle.loads(answer[0]) == 1 and errors:
            raise errors.pop(0)
        return answer

    ray.get = get
    results = Ray(preempted=preempted).map(number, [Item(n) for n in range(4)])
    if preempted == "retry":
        assert list(results) == list(range(4))
        says = "a Ray node was lost during the task Item(number=1, skips_bad=False), which is repeated"
        assert caplog.messages == [says] * 4
    else:
        assert next(results) == 0
        with pytest.raises(WorkerDied, match=r"^Ray failed during the task Item.* \(Lost: \); check the cluster"):
            next(results)
        assert len(errors) == 3
        with pytest.raises(PlanError, match="^preempted='never' must be 'retry' or 'count'$"):
            Ray(preempted="never")


def test_an_error_is_sent_as_a_value(ray):
    """Ray would send its text, and end the worker if this is no UTF-8; the error of the user is its cause."""

    def fails(item):
        raise FunctionFailed("\ud800") from ValueError("\ud800")  # noqa: EM101

    with pytest.raises(FunctionFailed) as failed:
        list(Ray().map(fails, [1]))
    assert failed.value.what == failed.value.__cause__.args[0] == "\ud800"


@pytest.mark.parametrize("within", [False, True], ids=["error", "of a task"])
def test_a_cluster_that_fails_is_named(ray, within):
    """By Ray's error, without the page of advice that follows its first line."""
    error = RayError("The raylet died.\nCheck its log.\n")

    def lost(item):
        raise TaskError(error) if within else error

    with pytest.raises(WorkerDied) as failed:
        list(Ray().map(lost, ["x" * 300]))
    says = f"Ray failed during the task {'x' * 200} (RayError: The raylet died.); check the cluster, and run again"
    assert str(failed.value) == says


def test_an_error_of_a_task_is_that_of_the_user(ray):
    """As it was raised there; what is no Exception arrives in Ray's."""
    cause = KeyError("a")
    for inner, expected in ((cause, KeyError), (KeyboardInterrupt(), TaskError)):

        def fails(item, inner=inner):
            raise TaskError(inner)

        with pytest.raises(expected):
            list(Ray().map(fails, [1]))


@pytest.mark.parametrize("ends", ["error", "stop", "close"])
def test_the_tasks_that_were_sent_end_before_the_call_does(ray, tmp_path, ends):
    """After an error, a stop, and if nobody takes more results: all that were sent did their work, and no other."""

    def works(item):
        (tmp_path / str(item)).touch()
        if (ends, item) == ("error", 1):
            raise TaskError(ValueError("no"))

    if ends == "stop":
        ray.get = lambda reference: (_ for _ in ()).throw(KeyboardInterrupt)
    results = Ray()._map(works, range(9))
    with pytest.raises({"error": ValueError, "stop": KeyboardInterrupt, "close": StopIteration}[ends]):
        next(results)
        results.close() if ends == "close" else next(results)
        next(results)
    assert len(list(tmp_path.iterdir())) == {"error": 7, "stop": 6, "close": 7}[ends]


def test_a_task_there_finds_the_modules_of_the_driver(monkeypatch):
    """The search path comes with it, without repeats; a process of its own gets the task as it was sent."""
    task, item = cloudpickle.dumps(number), cloudpickle.dumps(Item(7))
    monkeypatch.setattr(sys, "path", ["/a", "/b"])
    assert cloudpickle.loads(ray_runner._work_elsewhere(versions(), ["/b", "/c"], "/no", task, item, None)[0]) == 7
    assert sys.path == ["/a", "/b", "/c"]

    class Apart:
        def map_pickled(self, given, items):
            assert given is task
            return iter([number(items[0]) + 1])

    assert cloudpickle.loads(ray_runner._work_elsewhere(versions(), [], "", task, item, Apart())[0]) == 8


def test_a_machine_with_other_versions_does_no_task(ray, monkeypatch):
    """The error names the machine, and both versions."""
    real = versions()
    monkeypatch.setattr(ray_runner, "versions", lambda: {**real, "numpy": "1.0"})
    with pytest.raises(PlanError, match=r"has numpy .* \(the run has 1\.0\); install the same versions there, or pass"):
        list(Ray().map(number, [Item(1)]))


def denied(url):
    msg = "not for you; ask"
    raise ReadError(msg, url)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [("", ""), ("versions", "has numpy .* install the same versions there"), ("out", "has no folder .*; pass an out"),
     ("other", "has another folder .*; pass an out that all machines see"), ("kernels", ""),
     ("read", "has no file none; pass files that all machines see$"),
     ("size", "cannot read the input .*a.jsonl: not for you; ask$"),
     ("silent", r"does not answer \(RayError: gone\); check the cluster"), ("lost", ""), ("dies", ""),
     ("bare", r"cannot run dataprep \(of the task\); install the same versions there, or pass runtime_env=$")],
)  # fmt: skip
def test_each_node_is_asked_before_the_first_task(ray, tmp_path, monkeypatch, caplog, wrong, says):
    """A node that sees another disk, cannot read the input or has other versions is named; nothing stays in `out`."""
    for name in ("a.jsonl", "out", "disk"):
        (tmp_path / name).mkdir() if name != "a.jsonl" else (tmp_path / name).write_text('{"text": "a"}')
    real, asked = versions(), []

    def answer(node, theirs, path, folder, needs):
        asked.append(node)
        if node == "far" and wrong in ("silent", "lost"):
            raise RayError("gone")  # noqa: EM101
        if node == "far" and wrong == "dies":  # and is still said to be alive
            raise NodeDied
        if node == "far" and wrong == "bare":
            raise TaskError(None)
        if (node, wrong) == ("far", "size"):
            monkeypatch.setattr(files, "size", denied)
        theirs = {**real, "numpy": "1.0"} if (node, wrong) == ("far", "versions") else theirs
        disk = {"out": "none", "other": "disk"}.get(wrong, "out") if node == "far" else "out"
        read = "none" if (node, wrong) == ("far", "read") else needs.read
        monkeypatch.setattr("dataprep.unicode.machine_code.has_any", lambda: (node, wrong) != ("far", "kernels"))
        return ray_runner._asked(theirs, path, folder, needs._replace(out=str(tmp_path / disk), read=read))

    def remote(num_cpus, max_retries):
        assert (num_cpus, max_retries) == (0, 2)  # a worker that is killed as it asks is no answer

        def on(scheduling_strategy):
            return types.SimpleNamespace(remote=lambda *given: lambda: answer(scheduling_strategy, *given))

        return lambda task: types.SimpleNamespace(options=on)

    def nodes():
        dead = {"no", "far"} if wrong == "lost" and "far" in asked else {"no"}
        return [
            {"NodeID": name, "NodeManagerHostname": name, "Alive": name not in dead, "Resources": {"CPU": float(n)}}
            for n, name in enumerate(("head", "near", "far", "no"))
        ]

    ray.nodes = nodes
    ray.util = types.SimpleNamespace(
        scheduling_strategies=types.SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: node)
    )
    monkeypatch.setattr(ray, "remote", remote)
    monkeypatch.setattr(ray, "get", lambda reference, timeout: reference())
    plan = dp.Pipeline().plan(dp.read(str(tmp_path / "a.jsonl")), str(tmp_path / "out"), Ray())
    (tmp_path / "out" / f"{elsewhere.PROBE}0123456789ab.tmp").touch()  # of a process that was killed as it was asked
    with lease.held(plan.out):
        if says:
            with pytest.raises(PlanError, match=f"^the Ray node far {says}"):
                plan.prepare(Context(Ray()))
        else:
            plan.prepare(Context(Ray()))
    assert asked == ["near", "far"]  # no task fits the head, and one is dead
    assert [path.name for path in tmp_path.glob("[od]*/.*node*")] == []
    assert caplog.messages == [f"the Ray node far has {elsewhere.NO_KERNELS}"] * (wrong == "kernels")


@pytest.mark.parametrize(("make", "read"), [
    (lambda docs, _shards, out: dp.encode(docs, dp.Tokenizer.of_bytes(), out, runner=Ray()), "a.jsonl"),
    (lambda docs, _shards, out: dp.tools.SuffixIndex.build(docs, out, Ray()), "a.jsonl"),
    (lambda _docs, shards, out: dp.Mix({"memory": 1}).write(shards, out, 3, runner=Ray()), "s/manifest.json"),
    (lambda _docs, shards, out: dp.tools.export(shards, to="nanogpt", out=out, runner=Ray()), "s/manifest.json"),
], ids=["encode", "index", "mix", "export"])  # fmt: skip
def test_all_that_has_tasks_asks_the_nodes(ray, tmp_path, monkeypatch, make, read):
    """Before any task, with the folder of the result and a file of the input."""

    def prepare(runner, urls, out):
        raise PlanError(f"asked {out} {urls[0]}")  # noqa: EM102

    monkeypatch.setattr(Ray, "prepare", prepare)
    (tmp_path / "a.jsonl").write_text('{"text": "a"}')
    shards = save(tmp_path / "s", {"train": [[1, 2], [3]]}, vocab_size=9, eot=0)
    with pytest.raises(PlanError, match=rf"^asked {tmp_path}/out {tmp_path}/{read}$"):
        make(dp.read(str(tmp_path / "a.jsonl")), shards, str(tmp_path / "out"))
    assert ray.most == 0


@pytest.mark.parametrize("given", ["", "auto"])
def test_the_last_cluster_of_this_machine_has_ended(ray, tmp_path, given):
    """Ray would try its address, which a file keeps, for many minutes; another address does not concern the file."""
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("127.0.0.1:1\n")
    says = rf"^the Ray cluster at 127\.0\.0\.1:1, which {tmp_path}/ray/ray_current_cluster names, does not answer \("
    with pytest.raises(PlanError, match=says + r".*refused\); start it, or delete this file$"):
        _ = Ray(given or None).workers
    assert Ray("local").workers == 3


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://[::1]:1", "nonsense"])
def test_a_cluster_that_is_not_there(ray, monkeypatch, address):
    """One sentence at once: Ray itself tries a port on which nobody listens for many minutes."""

    def init(address, **given):
        assert address == "nonsense"
        msg = "Invalid address format: nonsense\nwith more"
        raise ValueError(msg)

    monkeypatch.setattr(ray, "init", init)
    says = rf"^no Ray cluster at {re.escape(address)} \([^\n]+\); check the address"
    with pytest.raises(PlanError, match=says):
        _ = Ray(address).workers
    if address != "nonsense":
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(PlanError, match=says):
            _ = Ray().workers


def test_what_a_task_reserves(ray, caplog):
    """The options of Ray are given to it; as many tasks run as fit the cluster."""
    ray.resources = {"CPU": 9.0, "ingest": 5.0}
    runner = Ray(num_cpus=2, resources={"ingest": 2}, runtime_env={"pip": ["x"]}, max_retries=7)
    assert runner.workers == 2
    assert list(runner.map(number, [Item(1)])) == [1]
    assert ray.inits[0]["runtime_env"] == {"pip": ["x"]}
    assert (ray.retries, ray.options) == ([0], [{"num_cpus": 2, "resources": {"ingest": 2}}])
    assert (runner.max_retries, caplog.messages) == (7, [])
    assert list(Ray(num_cpus=10, resources={"none": 1}, memory="900 MB").map(number, [Item(1)])) == [1]
    says = "no node of the Ray cluster has 10 CPU, 1 none, 900.0 MB memory; the tasks wait until one joins"
    assert caplog.messages == [says]
    assert Ray(resources={"none": 1}).workers == 1
    for wrong in ({"num_cpus": 0}, {"max_retries": -1}):
        with pytest.raises(PlanError, match=f"{next(iter(wrong))}="):
            Ray(**wrong)


def test_the_memory_that_a_task_states_is_reserved(ray):
    """In addition to the usual memory of a worker, or all that `memory=` allows it; otherwise, none is."""
    look, bits = (object.__new__(task) for task in (LookUp, SetBits))
    vars(look).update(size=FilterSize(10**9, 0.01), pieces=())
    vars(bits).update(piece=1 << 28)
    assert look.memory_bytes > 10**9
    for task in (look, bits, number):
        list(Ray().map(task, [Item(1)])) if task is number else list(Ray().map(task, []))
    assert [one.get("memory", 0) for one in ray.options] == [
        look.memory_bytes + WORKER_BYTES,
        WORKER_BYTES + (1 << 28),
        0,
    ]
    vars(look).update(pieces=({},))
    assert look.memory_bytes == 0
    list(Ray(memory="9 GB").map(bits, []))
    assert ray.options[-1]["memory"] == 3 * 10**9


def test_workers_of_other_nodes_get_absolute_folders(ray, tmp_path, monkeypatch) -> None:
    """A relative one would be another folder on each node; URLs and the folders of other runners stay as they are."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"text": "a"}')
    docs = dp.read("a.jsonl")
    assert dp.Pipeline().plan(docs, "out", Ray()).out == str(tmp_path / "out")
    assert dp.Pipeline().plan(docs, "out", Local(1)).out == "out"
    assert place_of("memory://out", Context(Ray())) == "memory://out"
