"""The errors that dataprep raises on purpose.

    DataprepError
    ├── PlanError       found before any work: a wrong parameter, a missing column, a stage that cannot be hashed
    │   └── NotInstalled    a package of an extra is not installed
    ├── ReadError       a file that cannot be trusted: missing, truncated, wrong schema, mostly bad records
    ├── CorruptShard    a file that dataprep wrote was changed, damaged or removed afterwards
    │   └── Replaced    the result was replaced since it was opened: open it again
    ├── NewerFormat     a file of a folder is in a format that only a newer dataprep reads
    ├── StaleOutput     the output folder was made by another recipe
    ├── Leak            a name or number that a stage must hide is left in the output
    ├── FunctionFailed  a function, Stage, Estimator or Reader of the user raised an error
    ├── WorkerDied      a worker process was killed, usually because memory ran out
    ├── InUse           another process writes into the output folder
    └── Transient       a network error: the only one that a Runner retries

A message is one sentence that states what was found, the file or value, and what to do. Bad *documents* raise no error:
they are dropped with a reason and counted.
"""

from __future__ import annotations

import errno
import importlib
import logging
import pickle
import re
import sys
from collections.abc import Sequence
from typing import Any

SHORT = {errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN}
NO_MEMORY = ("Failed to launch worker thread", "not enough memory", "Error -4 ")  # as Arrow, zstd and zlib state it
UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_LINES = re.compile(r"\s*\n\s*")
_TOKEN = re.compile(r'[^\s"]+')
_SCHEME = re.compile(r"(\w:(?:\\?/){2}|\w%3A%2F%2F)", re.IGNORECASE)  # also as JSON and percent-encoding write it
_USER = re.compile(r"[^@/:%]*:[^@]*(?:@|%40)(?:[^?']*@)?|[^'@/%]*?(?:@|%40)(?:[^'@/]*@)*", re.IGNORECASE)
_QUERY = re.compile(r"\?|%3F|[;#](?=[\w.%-]{1,64}=)", re.IGNORECASE)  # followed by an equals sign
_HTTP_QUERY = re.compile(r"(?:\?|%3F)(?=[\w%+/&-])", re.IGNORECASE)
_SPACED = re.compile(  # a password with spaces, but no port followed by words
    r"(?<=//)[^\s/@:?#\"']{0,256}:(?!\d*[\s,;.)])[^\s/@?#\"']{1,256}(?: [^\s/@?#\"']{1,256}){1,8}(?=@)"
)
_LATER = re.compile(r"(?:\?|%3F)[\w.%-]{1,64}=[^\s\"'<>)]*", re.IGNORECASE)  # after a space in the path of a URL
_SIGNED = re.compile(  # without the scheme and host, as HTTP libraries print it
    r"(?<=[?&;#])((?:x-(?:amz|goog)-)?(?:signature|credential|security-token)|sig|(?:access|id|auth)_token|token"
    r"|awsaccesskeyid|googleaccessid|api_?key|password|secret)=[^\s&\"'<>)]+", re.IGNORECASE
)
_END = re.compile(r"['<>)](?![\w%&=+/-])")  # of a query: a sign of the sentence around the URL, not one inside it


def redacted(text: str) -> str:
    """Return the text with *** in place of the user and the query of each URL, which may contain secrets.

    The query is the part after the question mark, or a parameter after a semicolon or a number sign. A part without an
    equals sign counts as a query only in http and https URLs, since question marks also occur in patterns of file
    names. After a space, a query must contain an equals sign too; outside a URL, a parameter must have a name such as
    `sig` or `token`.

    >>> redacted("https://ada:secret@host/a.jsonl?X-Amz-Signature=12ab is empty")
    'https://***@host/a.jsonl?*** is empty'
    """
    if _SCHEME.search(text):
        text = _TOKEN.sub(_redacted_word, _SPACED.sub("***:***", text))
        text = _LATER.sub("?***", text)
    return _SIGNED.sub(r"\1=***", text) if "=" in text else text


def _redacted_word(word: re.Match[str]) -> str:
    """Return a word, which may contain several URLs, without their users and queries."""
    before, *rest = _SCHEME.split(word[0])
    done, hidden = [before], False
    for scheme, url in zip(rest[::2], rest[1::2], strict=True):
        tail = url
        if not hidden:
            user = _USER.match(url)
            named = f"***@{url[user.end() :]}" if user else url
            query = _QUERY.search(named, 0, named.rfind("=") + 1)
            if query is None and (done[-1] + scheme[:1]).lower().endswith(("http", "https")):
                query = _HTTP_QUERY.search(named)
            done.append(scheme + (named[: query.end()] + "***" if query else named))
            if query is None:
                continue
            tail = named[query.end() :]
        end = _END.search(tail)
        hidden = end is None
        done.append("" if end is None else tail[end.start() :])
    return "".join(done)


def shown(text: str) -> str:
    """Return the text in a form that is safe to print: URLs without secrets, control characters as U+FFFD."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", redacted(text))


def a_or_an(noun: str) -> str:
    """Return a noun with its indefinite article: "a Stage", "an Estimator"."""
    return f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun}"


def counted(n: int, noun: str) -> str:
    """Return a number and its noun: "1 part", "2,000 parts"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def first_few(names: Sequence[str], most: int) -> str:
    """Return the first names, and how many more there are: "a, b and 3 more"."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _clean(record: logging.LogRecord) -> bool:
    record.msg, record.args = shown(record.getMessage()), ()
    return True


logging.getLogger("dataprep").addFilter(_clean)


class DataprepError(Exception):
    """Base class of the errors that dataprep raises on purpose: one line, with *** for secrets in URLs."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(_LINES.sub(" ", shown(one)) if isinstance(one, str) else one for one in args))


class PlanError(DataprepError):
    """An error that is detected before any work starts, such as an invalid parameter."""


class NotInstalled(PlanError):
    """A package that an extra of dataprep installs is not installed."""


class ReadError(DataprepError):
    """An input file cannot be read.

    Attributes:
        path: the file.
        offset: the position of the error in decompressed bytes.
        reason: the reason in the table of unread files: "unreadable", or "empty" if the file is intact but contains no
            document.
    """

    def __init__(
        self, message: str, path: str | None = None, offset: int | None = None, *, reason: str = "unreadable"
    ) -> None:
        where = ""
        if path is not None:
            name = str(path).replace("\n", "\N{REPLACEMENT CHARACTER}")
            where = f"{name}: " if offset is None else f"{name}, byte {offset:,}: "
        super().__init__(where + message)
        self.message, self.path, self.offset, self.reason = message, path, offset, reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.path, self.offset), {"reason": self.reason}


class CorruptShard(DataprepError):
    """A file that dataprep wrote was changed, damaged or removed afterwards."""


class Replaced(CorruptShard):
    """The files of an opened result were replaced or removed by a later run."""


class NewerFormat(DataprepError):
    """A file has a newer format than this version of dataprep can read; nothing is changed."""


class StaleOutput(DataprepError):
    """The output folder contains the result of another recipe (other stages, parameters or input)."""


class Leak(DataprepError):
    """An output folder contains a private name or number, and was therefore not completed."""


class FunctionFailed(DataprepError):
    """A function, Stage, Estimator or Reader of the user raised an error, stored as `__cause__`, for a document.

    Attributes:
        what: the function that raised the error, and the error itself.
        document: the document's id as text, or "FIRST to LAST" if the document is one of several; None if it is not
            known.
        head: the beginning of the document's text.
        file: the URL of the document's file; None if it is not known.
    """

    def __init__(self, what: str, document: str | None = None, head: str = "", file: str | None = None) -> None:
        name = "" if document is None else f" for document{'s' * (' to ' in document)} {document}"
        name += "" if not file else f" while it read {file}" if document is None else f" of {file}"
        name += f" ({head!r})" if head else ""
        super().__init__(f"{what}{name}; correct it and run again; finished work is kept")
        self.what, self.document, self.head, self.file = what, document, head, file
        self.cause: BaseException | None = None

    def __reduce__(self) -> tuple[Any, ...]:  # pickle leaves out __cause__, and workers send errors by pickle
        cause = None if self.__cause__ is None else portable(self.__cause__)
        return type(self), (self.what, self.document, self.head, self.file), {"cause": cause}


def portable(error: BaseException) -> BaseException:
    """Return the error if another process can unpickle it, otherwise a RuntimeError with the same text."""
    try:
        if type(error).__module__ not in ("__main__", "__mp_main__"):  # which is a different module there
            pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
            return error
    except Exception:  # noqa: BLE001, S110 - whatever a class of the user raises
        pass
    return RuntimeError(f"{type(error).__qualname__}: {message_of(error)}")


def message_of(error: BaseException) -> str:
    """Return the message of an error; "" if its class cannot produce one, since a user's `__str__` may fail, too."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - whatever it raises
        return ""


class WorkerDied(DataprepError):
    """A worker process ended without a result, usually because memory ran out."""


class Transient(DataprepError):
    """A temporary network error; a Runner retries the task."""


class InUse(DataprepError):
    """Another process is writing into the output folder; try again when it has finished."""


def taken(folder: str, by: object) -> InUse:
    """Return the error of a process whose lease another process took, since it showed no sign of life for a while.

    - by: the machine of the other process; None if it is not known.
    """
    host = "" if by is None else f" on host {str(by).partition(' ')[0]}"
    return InUse(
        f"another process{host} took {folder} over while this one was suspended or could not reach it; nothing of this "
        "run became its result; run again, or choose another folder"
    )


def raise_if_short(error: BaseException) -> None:
    """Raise `error` again if its cause is a lack of memory, threads or open files rather than the file being read."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) in SHORT:
        raise error
    if any(words in str(error) for words in NO_MEMORY):
        raise MemoryError(str(error)) from error


def require(condition: object, message: str) -> None:
    """Raise PlanError with `message` unless the condition is true."""
    if not condition:
        raise PlanError(message)


def require_integer(name: str, value: object, least: int, most: int | None = None) -> None:
    """Raise PlanError unless the parameter `name` is an integer of at least `least`, and at most `most` if given."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    fits = whole and least <= value and (most is None or value <= most)  # type: ignore[operator]
    wanted = f"of at least {least:,}" if most is None else f"from {least:,} to {most:,}"
    require(fits, f"{name}={value!r} must be an integer {wanted}")


def need(module: str, extra: str, before: tuple[int, int] | None = None) -> Any:
    """Import and return an optional module. Raises NotInstalled, naming the package, if it is not installed.

    - extra: the extra of dataprep (as in `pip install 'dataprep-lm[hf]'`) that installs the module.
    - before: the first version of Python for which the extra does not install the module; the error then asks for an
      older Python.

    >>> datasets = need("datasets", extra="hf")
    """
    try:
        return importlib.import_module(module)
    except ImportError as e:
        package = module.split(".", maxsplit=1)[0]
        msg = f"this needs the package '{package}', which is not installed: pip install 'dataprep-lm[{extra}]'"
        if before is not None and sys.version_info[:2] >= before:
            new, old = f"{before[0]}.{before[1]}", f"{before[0]}.{before[1] - 1}"
            msg = (
                f"this needs the package '{package}', which cannot be installed on Python {new} or newer: "
                f"use Python {old} or older with pip install 'dataprep-lm[{extra}]'"
            )
        raise NotInstalled(msg) from e
