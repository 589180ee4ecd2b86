from __future__ import annotations

import gzip
import json
import resource
import stat
import sys
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dataprep as dp
import twins.ngram
from dataprep import cli
from dataprep.errors import DataprepError, PlanError, ReadError, StaleOutput
from dataprep.ngram import partition, train

few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
FALLBACK = (0.5, 1.0, 1.5)


def read_arpa(path):
    """{(word, ...): (log10 probability, log10 back-off)} and the counts of the header."""
    grams, counts = {}, []
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf-8", newline="\n") as f:
        for line in f:
            fields = line.rstrip("\n").split("\t")
            if len(fields) > 1:
                grams[tuple(fields[1].split(" "))] = (float(fields[0]), float((*fields, "0")[2]))
            elif line.startswith("ngram "):
                counts.append(int(line.split("=")[1]))
    return grams, counts


def same(found, expected, tolerance):
    """Every n-gram of one is in the other, with nearly the same two numbers."""
    assert found.keys() == expected.keys()
    for gram, (probability, backoff) in expected.items():
        assert abs(found[gram][0] - probability) < tolerance, gram
        assert abs(found[gram][1] - backoff) < tolerance, gram


@pytest.mark.parametrize(
    ("name", "order", "prune", "memory"),
    [
        ("3", 3, (0,), "2GB"),
        ("4-pruned", 4, (0, 0, 1), "2GB"),
        ("4-pruned", 4, (0, 0, 1), "6MB"),  # in parts
    ],
)
def test_lmplz_makes_the_same_model(name, order, prune, memory, shared, tmp_path):
    """Every probability and back-off of KenLM's own models, none missing and none extra, whole or in parts."""
    source = shared / "ngram" / "shakespeare.txt.gz"
    out = str(tmp_path / "model.arpa")
    model = train(str(source), order=order, prune=prune, out=out, memory=memory)
    expected, counts = read_arpa(shared / "ngram" / f"shakespeare.{name}.arpa.gz")
    found, header = read_arpa(out)
    assert header == counts == list(model.counts)
    same(found, expected, 2e-6)


words = st.sampled_from(["a", "b", "c", "dé", "ي", "word"])
texts = st.lists(st.lists(words, max_size=6).map(" ".join), min_size=1, max_size=30)


@few
@given(lines=texts, order=st.integers(2, 5), cut=st.integers(0, 2), fallback=st.sampled_from([None, FALLBACK]))
def test_models_follow_the_definition(lines, order, cut, fallback, tmp_path):
    """The plain twin finds the same model, or refuses the same text."""
    text, out = tmp_path / "t.txt", str(tmp_path / "t.arpa")
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    prune = (0, 0, *[cut] * (order - 2))[:order]
    expected = twins.ngram.kneser_ney(lines, order, prune, fallback)
    if expected is None:
        with pytest.raises(DataprepError, match="--discount-fallback"):
            train(str(text), order=order, prune=prune, out=out)
        return
    model = train(str(text), order=order, prune=prune, out=out, discount_fallback=fallback or False)
    found, header = read_arpa(out)
    same(found, expected, 2e-6)
    assert header == [sum(len(g) == n for g in expected) for n in range(1, order + 1)] == list(model.counts)
    assert model.n_sentences == len(lines)


@few
@given(lines=texts, memory=st.integers(2_000, 20_000))
def test_memory_changes_no_model(lines, memory, tmp_path):
    """In as many parts as the memory asks for, or in one: the same lines."""
    text, a, b = (str(tmp_path / name) for name in ("t.txt", "a.arpa", "b.arpa"))
    with open(text, "w", encoding="utf-8") as f:
        f.write("\n".join(lines))
    train(text, order=4, out=a, discount_fallback=True)
    most = max([len(lines), *Counter(word for line in lines for word in line.split()).values()])
    if most * partition.n_bytes(4) > memory:
        with pytest.raises(PlanError, match="raise memory"):
            train(text, order=4, out=b, discount_fallback=True, memory=memory)
        return
    train(text, order=4, out=b, discount_fallback=True, memory=memory)
    with open(a, encoding="utf-8") as f, open(b, encoding="utf-8") as g:
        assert sorted(f) == sorted(g)


def test_lines_and_blanks_are_those_of_lmplz(tmp_path):
    """Tabs, NULs and CR LF are blanks, U+00A0 is not; an empty line is a sentence; the last needs no line feed."""
    text = tmp_path / "t.txt"
    text.write_bytes("a\tb\0c\r\n\n x\u00a0y  a ".encode())
    model = train(str(text), order=2, out=str(tmp_path / "t.arpa"), discount_fallback=True)
    assert (model.n_sentences, model.n_words) == (3, 5)
    found, _ = read_arpa(model.path)
    assert ("x\u00a0y", "a") in found
    assert ("<s>", "</s>") in found


def test_documents_are_read_line_by_line(tmp_path):
    """A Dataset gives the model of the file with the same lines, in blocks of any size."""
    lines = [f"w{i % 7} w{i % 5} w{i % 3}" for i in range(300)]
    text = tmp_path / "t.txt"
    text.write_text("\n".join(lines) + "\n")
    (tmp_path / "docs.jsonl").write_text(
        "".join(json.dumps({"text": "\n".join(lines[i : i + 10])}) + "\n" for i in range(0, 300, 10))
    )
    a = train([str(text)], order=3, out=str(tmp_path / "a.arpa"), discount_fallback=True)
    b = train(dp.read(str(tmp_path / "docs.jsonl")), order=3, out=str(tmp_path / "b.arpa"), discount_fallback=True)
    assert (tmp_path / "a.arpa").read_bytes() == (tmp_path / "b.arpa").read_bytes()
    assert a.counts == b.counts


def test_vocabularies_grow(tmp_path):
    """More words than the first table holds, and words longer than a block's blanks are apart."""
    text = tmp_path / "t.txt"
    text.write_text("\n".join(f"word{i}" + "x" * (i % 50) for i in range(40_000)) + "\n" + "y" * 5_000_000)
    model = train(str(text), order=2, out=str(tmp_path / "t.arpa"), discount_fallback=True)
    assert model.counts[0] == 40_004


def test_special_words_are_refused_or_left_out(tmp_path):
    """<s> in the text is an error that names the file, unless it is to be skipped."""
    text = tmp_path / "t.txt"
    text.write_text("a <s> b\n")
    with pytest.raises(ReadError, match="the text must not contain the word <s>.*--skip-symbols"):
        train(str(text), order=2, out=str(tmp_path / "t.arpa"), discount_fallback=True)
    model = train(str(text), order=2, out=str(tmp_path / "t.arpa"), discount_fallback=True, skip_symbols=True)
    assert model.n_words == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"order": 1},
        {"order": 7},
        {"prune": (1,)},
        {"prune": (0, 2, 1)},
        {"prune": (0,) * 9},
        {"discount_fallback": (2, 1)},
    ],
)
def test_wrong_parameters_are_one_sentence(wrong, tmp_path):
    """Orders that KenLM cannot load, thresholds that fall or begin with single words, discounts above the count."""
    with pytest.raises(PlanError):
        train(str(tmp_path / "t.txt"), out=str(tmp_path / "t.arpa"), **wrong)


def test_nothing_is_left_behind(tmp_path):
    """No file to read, or none that is enough: no model, no folder of pieces."""
    (tmp_path / "t.txt").write_text("one two\n")
    with pytest.raises(PlanError, match="there is no file at"):
        train(str(tmp_path / "absent.txt"), out=str(tmp_path / "t.arpa"))
    with pytest.raises(DataprepError, match="too small or too artificial for"):
        train(str(tmp_path / "t.txt"), out=str(tmp_path / "t.arpa"))
    assert [p.name for p in tmp_path.iterdir()] == ["t.txt"]


def test_kenlm_loads_and_scores(shared, tmp_path):
    """KenLM gives each sentence the score that it gives with lmplz's model."""
    kenlm = pytest.importorskip("kenlm")
    source = shared / "ngram" / "shakespeare.txt.gz"
    out = str(tmp_path / "m.arpa")
    train(str(source), order=3, out=out)
    theirs = tmp_path / "theirs.arpa"
    theirs.write_bytes(gzip.decompress((shared / "ngram" / "shakespeare.3.arpa.gz").read_bytes()))
    a, b = kenlm.Model(out), kenlm.Model(str(theirs))
    for line in gzip.decompress(source.read_bytes()).decode().split("\n")[:200]:
        other = line[::-1] + " " + line
        assert abs(a.score(other) - b.score(other)) < 1e-4 * (1 + len(other.split()))


def test_binary_needs_kenlms_tool(tmp_path, monkeypatch):
    """Without build_binary on the PATH that is said before any work; with it, the file it makes is beside the ARPA."""
    (tmp_path / "t.txt").write_text("one two\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlanError, match="build_binary"):
        train(str(tmp_path / "t.txt"), out=str(tmp_path / "t.arpa"), binary=True)
    tool = tmp_path / "build_binary"
    tool.write_text('#!/bin/sh\n/bin/cp "$1" "$2"\n')
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    model = train(str(tmp_path / "t.txt"), out=str(tmp_path / "t.arpa"), binary=True, discount_fallback=True, order=2)
    assert model.binary == str(tmp_path / "t.binary")
    assert (tmp_path / "t.binary").read_bytes() == (tmp_path / "t.arpa").read_bytes()


def test_only_a_binary_of_kenlm_is_replaced(tmp_path, monkeypatch):
    """Another file of its name is named before any work, a text of the input too; a `.tmp` beside it is not touched."""
    tool = tmp_path / "build_binary"
    tool.write_text('#!/bin/sh\necho mmap lm http://kheafield.com/code format version 5 > "$2"\n')
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("t.txt", "t.binary", "t.binary.tmp", "u.binary"):
        (tmp_path / name).write_text("one two\n")
    how = {"binary": True, "discount_fallback": True, "order": 2}
    with pytest.raises(StaleOutput, match=r"t\.binary exists and is not a KenLM binary"):
        train(str(tmp_path / "t.txt"), out=str(tmp_path / "t.arpa"), **how)
    with pytest.raises(PlanError, match=r"u\.binary is one of the texts"):
        train(str(tmp_path / "u.binary"), out=str(tmp_path / "u.arpa"), **how)
    assert not (tmp_path / "t.arpa").exists()
    (tmp_path / "t.binary").unlink()
    for _ in range(2):
        assert train(str(tmp_path / "t.txt"), out=str(tmp_path / "t.arpa"), **how).binary
    assert (tmp_path / "t.binary.tmp").read_text() == (tmp_path / "u.binary").read_text() == "one two\n"


def test_the_command_takes_what_lmplz_takes(tmp_path, capsys, monkeypatch):
    """`--prune 0 0 1` in three words or in one; what was made is told; too little text is one sentence."""
    text, out = tmp_path / "t.txt", tmp_path / "t.arpa"
    text.write_text("a b c\na b c\na b d\n")

    def run(*args):
        words = ["dataprep", "train-ngram", str(text), "--out", str(out), "--order", "3", *args]
        monkeypatch.setattr(sys, "argv", words)
        try:
            cli.main()
        except SystemExit as e:
            return e.code, capsys.readouterr()
        return 0, capsys.readouterr()

    code, said = run("--prune", "0", "0", "1")
    assert code == 1
    assert "or pass --discount-fallback, which" in said.err
    assert said.err.count("\n") == 1
    models = []
    for prune in (["--prune", "0", "0", "1"], ["--prune", "0 0 1"], ["--prune", "0,0,1"]):
        code, said = run(*prune, "--discount-fallback")
        assert code == 0
        assert "3 sentences, 9 words" in said.out
        models.append(out.read_bytes())
    assert models[0] == models[1] == models[2]
    assert b"\na b d" not in models[0]
    assert run("--prune", "none")[0] == 1


def test_a_file_over_the_limit_is_named(tmp_path):
    """The temporary files, which have no name, too."""
    text = tmp_path / "t.txt"
    text.write_text("".join(f"a{n} b{n % 7} c d\n" for n in range(2_000)))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(DataprepError, match="m.arpa: the disk is full"):
            train(str(text), out=str(tmp_path / "m.arpa"), order=2, discount_fallback=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in tmp_path.iterdir()] == ["t.txt"]


def test_the_text_is_not_written_over(tmp_path):
    """By its name, by a link, or as a file of a folder."""
    text = tmp_path / "t.txt"
    text.write_text("a b c\n")
    (tmp_path / "link").symlink_to(text)
    for texts, out in ((text, text), (text, tmp_path / "link"), (tmp_path, text)):
        with pytest.raises(PlanError, match="is one of the texts, or the next run .*; choose another file as out"):
            train(str(texts), out=str(out), order=2, discount_fallback=True)
    assert text.read_text() == "a b c\n"
