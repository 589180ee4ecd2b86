"""Classifiers of text: they are found by path or name, downloaded once, checked, and loaded once per process.

py3langid's pass over the bytes of a text is a compiled kernel here: it computes the same scores, bit for bit, several
times as fast. Slow reference for the tests: tests/twins/langid.py.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from dataprep.errors import PlanError, need
from dataprep.store import files
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8

from .likeliest import F32, I32, Tables, likeliest
from .tables import check, tables_of

BUILTIN = "builtin"  # py3langid, in its wheel
FOLDERS = "DATAPREP_MODELS"  # folders of models, as PATH has folders of programs
PREFIX = "__label__"
BLOCK = 1 << 20
SAMPLES = (b"", b"The garden was open to everyone. ", "الحديقة مفتوحة 123 été".encode())


class Download(NamedTuple):
    """A model that is downloaded when it is first used by name.

    Attributes:
        url: the address of the file.
        sha256: the hash that the file must have.
        n_bytes: the size of the file.
    """

    url: str
    sha256: str
    n_bytes: int


DOWNLOADS = {
    "lid.176": Download(  # CC BY-SA 3.0; https://fasttext.cc/docs/en/language-identification.html
        "https://dl.fbaipublicfiles.com/fasttext/supervised-models/lid.176.ftz",
        "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83",
        938_013,
    ),
}
# Labels of lid.176, to name them without the file.
LID_176 = """
    af als am an ar arz as ast av az azb ba bar bcl be bg bh bn bo bpy br bs bxr ca cbk ce ceb ckb co cs cv cy da de
    diq dsb dty dv el eml en eo es et eu fa fi fr frr fy ga gd gl gn gom gu gv he hi hif hr hsb ht hu hy ia id ie ilo io
    is it ja jbo jv ka kk km kn ko krc ku kv kw ky la lb lez li lmo lo lrc lt lv mai mg mhr min mk ml mn mr mrj ms mt
    mwl my myv mzn nah nap nds ne new nl nn no oc or os pa pam pfl pl pms pnb ps pt qu rm ro ru rue sa sah sc scn sco sd
    sh si sk sl so sq sr su sv sw ta te tg th tk tl tr tt tyv ug uk ur uz vec vep vi vls vo wa war wuu xal xmf yi yo yue
    zh"""


@dataclass(frozen=True)
class FastText:
    """A supervised fastText model.

    Attributes:
        model: fastText's own object.
        labels: the model's labels, without the prefix "__label__".
        tables: the model for compiled code; None if only the library can use it.
    """

    model: Any
    labels: tuple[str, ...]
    tables: Tables | None

    def likeliest(self, units: I64, data: U8) -> tuple[I32, F32] | None:
        """Return the most probable label of each text, an index of `labels` (-1: none), and the label's probability.

        Args:
            units: as in `likeliest.likeliest`.
            data: as in `likeliest.likeliest`.

        Returns None if `top` must be called for each text instead.
        """
        if self.tables is None:
            return None
        labels, scores = likeliest(self.tables, units, data)
        return (labels, scores) if np.isfinite(scores).all() else None

    def top(self, text: bytes, k: int) -> list[tuple[float, str]]:
        """Return (probability, label) of the `k` likeliest labels of a text, the likeliest first.

        - text: UTF-8 bytes; line feeds count as blanks.
        """
        found = self.model.f.predict(text.replace(b"\n", b" ") + b"\n", k, 0.0, "strict")
        return [(p, label.removeprefix(PREFIX)) for p, label in found]


@dataclass(frozen=True)
class Py3langid:
    """The language classifier of py3langid, with scores normalised to probabilities; used like `FastText`.

    Attributes:
        model: py3langid's own object.
        labels: the language codes.
    """

    model: Any
    labels: tuple[str, ...]

    def likeliest(self, units: I64, data: U8) -> None:
        """Return None, since `top` must be called for each text."""

    def top(self, text: bytes, k: int) -> list[tuple[float, str]]:
        """Return (probability, label) of the `k` likeliest labels of a UTF-8 text, the likeliest first."""
        if k == 1:
            label, score = self.model.classify(text)
            return [(score, label)]
        return [(p, label) for label, p in self.model.rank(text)[:k]]


Classifier = FastText | Py3langid


def find(model: str) -> str:
    """Return the path of a fastText model; "builtin" is returned unchanged.

    Args:
        model: a path, "builtin", or a name. A name is searched for in the folders of DATAPREP_MODELS and in the cache
            folder; a known model is downloaded if it is not found.

    Raises PlanError if there is no such model and it cannot be downloaded.
    """
    if model == BUILTIN or os.path.isfile(files.path_of(model)):
        return files.path_of(model)
    if not isinstance(model, str) or "/" in model or os.sep in model or not model:
        msg = f"there is no model at {model!r}; pass the path of a fastText model (.bin, .ftz), 'lid.176' or 'builtin'"
        raise PlanError(msg)
    folders = [f for f in os.environ.get(FOLDERS, "").split(os.pathsep) if f] + [cache_folder()]
    for folder in folders:
        for name in (model, f"{model}.ftz", f"{model}.bin"):
            if os.path.isfile(path := os.path.join(folder, name)):
                return path
    if model not in DOWNLOADS:
        msg = (
            f"there is no model {model!r} in {' or '.join(folders)}; pass a path, put the model there, or use "
            f"{' or '.join(map(repr, [BUILTIN, *DOWNLOADS]))}"
        )
        raise PlanError(msg)
    return _download(model, DOWNLOADS[model])


def cache_folder() -> str:
    """Return the path of the folder in which downloaded models are stored."""
    return files.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dataprep", "models")


def _download(name: str, known: Download) -> str:
    """Download a complete model; return its path. Raises PlanError if its checksum differs from the known one."""
    path = files.join(cache_folder(), files.name_of(known.url))
    by_hand = f"download it elsewhere and pass its path; model='{BUILTIN}' needs no download"
    digest = hashlib.sha256()
    try:
        with files.atomic(path) as out, urllib.request.urlopen(known.url, timeout=60) as f:  # noqa: S310 - our URLs
            while block := f.read(BLOCK):
                digest.update(block)
                out.write(block)
            if digest.hexdigest() != known.sha256:
                msg = f"{known.url} must have the sha256 {known.sha256}, but has {digest.hexdigest()}; {by_hand}"
                raise PlanError(msg)
    except OSError as e:
        msg = f"{name} could not be downloaded from {known.url} ({e}); {by_hand}"
        raise PlanError(msg) from e
    return path


def identity(path: str) -> str:
    """Return a text that identifies a model's content: py3langid's version for "builtin", else the file's hash."""
    if path == BUILTIN:
        need("py3langid", extra="langid")
        return _version()
    return file_hash(path)


@cache
def _version() -> str:
    from importlib.metadata import version  # reads a file

    return f"py3langid {version('py3langid')}"


def file_hash(path: str) -> str:
    """Return the hash of a local file's content; an unchanged file is read once per process."""
    found = os.stat(path)
    return _hash(path, found.st_size, found.st_mtime_ns)


@cache
def _hash(path: str, size: int, changed: int) -> str:  # noqa: ARG001 - a file that changed is hashed anew
    return files.content_hash(path)


def description(path: str) -> dict[str, Any]:
    """Return the content of PATH.json, which describes the model at a local path PATH; empty if there is no such file.

    While a model is being replaced, the file describes both the old and the new model. Raises CorruptShard if it is
    damaged.
    """
    about = files.read_json(f"{path}.json") if files.exists(f"{path}.json") else {}
    if not isinstance(about, dict):
        return {}
    before = about.pop("before", None)
    return before if before and about["model"] != file_hash(path) else about


def load(path: str) -> Classifier:
    """Return the model at a path that `find` returned (or "builtin"); it is loaded once per process."""
    return _load(path, identity(path))


@cache
def _load(path: str, known_as: str) -> Classifier:  # noqa: ARG001 - a file that changed is loaded anew
    if path == BUILTIN:
        found = _langid()
        return Py3langid(found, tuple(found.labels))
    return opened(path)


def opened(path: str) -> FastText:
    """Return the fastText model in a file, without keeping it for later calls."""
    check(path)
    fasttext = need("fasttext.FastText", extra="langid")
    model = fasttext._FastText(model_path=path)  # noqa: SLF001 - load_model is this and a warning on stderr
    return FastText(model, tuple(label.removeprefix(PREFIX) for label in model.get_labels()), tables_of(path, model))


def check_labels(wanted: Sequence[str], model: str, labels: Sequence[str]) -> None:
    """Raise PlanError if the model lacks one of the `wanted` codes; the message names models that have it.

    - labels: the codes that the model `model` has.
    """
    missing = [code for code in wanted if code not in labels]
    if not missing:
        return
    code = missing[0]
    have = [repr(name) for name in (BUILTIN, *DOWNLOADS) if name != model and code in _labels_of(name)]
    if have:
        advice = f"use model={' or '.join(have)}"
    elif near := difflib.get_close_matches(code, labels, 3, 0.3):
        advice = f"similar codes are {', '.join(near)}"
    else:
        advice = f"use codes such as {', '.join(sorted(labels)[:5])}"
    msg = f"the model {model!r} lacks the code {code!r} ({len(labels)} codes); {advice}"
    raise PlanError(msg)


def _labels_of(name: str) -> Sequence[str]:
    """Return the codes of a model known by name; none if it is not installed."""
    try:
        return load(BUILTIN).labels if name == BUILTIN else LID_176.split()
    except PlanError:
        return ()


def round_scores(scores: Any) -> Any:
    """Return scores rounded to 1e-4 as float64, the form in which they are stored and compared."""
    return np.round(np.asarray(scores, np.float64), 4)


@kernel
def walk(text: U8, moves: Any, rows: I64, features: I32, seen: I32) -> tuple[I64, I32]:
    """Return the numbers of the features (byte sequences known to the model) in a text, and how often each occurs.

    The numbers are int64, in order of first occurrence; the counts are int32.

    Args:
        text: UTF-8 bytes.
        moves: the automaton's transitions: from `state`, a byte leads to the state moves[rows[state] + byte].
        rows: the offset of each state's transitions in `moves`.
        features: the number of the feature that ends in each state; -1 if no feature ends there.
        seen: int32, a work array with a zero for every feature; it is all zero again after the call.
    """
    order = np.empty(len(text), np.int64)
    n, state = 0, np.int64(0)
    for i in range(len(text)):
        state = np.int64(moves[rows[state] + np.int64(text[i])])
        feature = features[state]
        if feature >= 0:
            if seen[feature] == 0:
                order[n] = feature
                n += 1
            seen[feature] += np.int32(1)
    counts = np.empty(n, np.int32)
    for i in range(n):
        counts[i] = seen[order[i]]
        seen[order[i]] = 0
    return order[:n], counts


def _langid() -> Any:
    """Return py3langid's identifier with probabilities; its own walk is kept if the compiled one scores otherwise."""
    langid = need("py3langid.langid", extra="langid")
    plain = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    try:
        fast = _walker(langid.LanguageIdentifier, plain)
        same = all(np.array_equal(fast._raw_score(s), plain._raw_score(s)) for s in SAMPLES)  # noqa: SLF001
    except (AttributeError, TypeError, ValueError):
        same = False
    return fast if same else plain


def _walker(identifier: Any, plain: Any) -> Any:
    """Return the identifier with one method replaced."""
    moves = np.frombuffer(plain.tk_nextmove, np.dtype(plain.tk_nextmove.typecode))
    rows, features = np.asarray(plain.tk_row, np.int64) << 8, np.asarray(plain.tk_output, np.int32)
    seen = np.zeros(len(plain.nb_ptc), np.int32)

    class Walker(identifier):
        __slots__ = ()

        def _raw_score(self, text: bytes) -> Any:
            order, counts = walk(np.frombuffer(text, np.uint8), moves, rows, features, seen)
            if not len(order):
                return super()._raw_score(b"")
            return np.log1p(counts.astype(np.float32)) @ self.nb_ptc[order] + self.nb_pc

    fast = Walker.__new__(Walker)
    for name in identifier.__slots__:
        setattr(fast, name, getattr(plain, name))
    fast.nb_ptc = plain.nb_ptc.astype(np.float32)  # 57 MB instead of 28 MB: each product converts it otherwise
    return fast
