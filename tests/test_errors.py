"""Errors raised on purpose: an optional package that is missing."""

from __future__ import annotations

import logging
import sys

import pytest

import dataprep as dp
from dataprep import errors
from dataprep.errors import PlanError, need
from dataprep.store import files


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ((3, 12, 9), "'kenlm', which is not installed: pip install 'dataprep-lm\\[perplexity\\]'$"),
        ((3, 13, 0), "'kenlm', which cannot be installed on Python 3.13 or newer: use Python 3.12 or older"),
        ((3, 14, 1), "'kenlm', which cannot be installed on Python 3.13 or newer: use Python 3.12 or older"),
    ],
)
def test_kenlm_is_advised_where_it_can_be_installed(root, monkeypatch, version, message):
    """`Perplexity` without KenLM names the extra, or on versions for which the extra lacks it, an older Python."""
    assert "kenlm>=0.2; python_version < '3.13'" in (root / "pyproject.toml").read_text(encoding="utf-8")
    monkeypatch.setitem(sys.modules, "kenlm", None)  # an import of it fails
    with monkeypatch.context() as patch, pytest.raises(PlanError, match=message):
        patch.setattr(sys, "version_info", version)
        dp.Perplexity(model="no-model.bin")


def test_need_imports_what_is_there():
    """A module that is installed is returned, whatever its version of Python; one that is missing names its extra."""
    assert need("json.decoder", extra="hf", before=(3, 0)) is sys.modules["json.decoder"]
    with pytest.raises(PlanError, match="'not_there', which is not installed: pip install 'dataprep-lm\\[hf\\]'$"):
        need("not_there.inside", extra="hf")


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("https://ada:hunter2@host/a.jsonl", "hunter2"), ("https://ghp_hunter2@host/a.jsonl", "hunter2"),
        ("https://host/a.jsonl?X-Amz-Signature=hunter2&X-Amz-Date=1", "hunter2"),
        ("s3://AKIA:hun/ter2@bucket/a", "ter2"), ("abfs://box@account/a?sv=1&sig=hunter2", "hunter2"),
        ("https://ada:hun@ter2@host/a", "ter2"), ("https://host/it's.jsonl?sig=hunter2", "hunter2"),
        ("https://host/a(1).jsonl?sig=a)b<hunter2", "hunter2"), ("https://host/a?sig='hunter2", "hunter2"),
        ("simplecache::https://ada:hunter2@host/a?b=hunter2", "hunter2"), ("ftp://u:hunter2@h:21/x y", "hunter2"),
        ("https://host/a?hunter2", "hunter2"), ("https://host/a#access_token=hunter2", "hunter2"),
        ("https://host/a;sig=hunter2", "hunter2"), ("https://ada:h@nt/hunter2@host/a", "hunter2"),
        ("https://ada:it'shunter2@host/a", "hunter2"), ("https://host/a?next=https://b/c&sig=hunter2", "hunter2"),
        ("https:\\/\\/ada:hunter2@host\\/a?b=hunter2", "hunter2"),
        ("https%3A%2F%2Fada:hunter2%40h%2Fa%3Fb%3D1", "hunter2"), ("https://ada:hun ter2@host/a", "ter2"),
        ("https://host/a b c.jsonl?X-Amz-Signature=hunter2", "hunter2"), ("https://ada:a b2@h/c?e=hunter2", "hunter2"),
        ("no host: /a.jsonl?b=1&sig=hunter2", "hunter2"), ("url: /a?X-Amz-Security-Token=hunter2", "hunter2"),
    ],
)  # fmt: skip
def test_no_secret_of_a_url_is_printed(url, secret, caplog):
    """Passwords and signatures are left out of messages and logs, and of the names that keys are made of."""
    assert secret not in str(errors.ReadError("it is empty", url))
    assert secret not in str(errors.PlanError(f"{url} must be another; check '{url}'"))
    logging.getLogger("dataprep").warning("%s is %s", url, "empty")
    assert secret not in caplog.text
    assert "://" not in url or secret not in files.name_of(url)
    assert errors.redacted("https://host:80 ends; write to a@b or https://host: no, c@d; f(token=3)") == (
        "https://host:80 ends; write to a@b or https://host: no, c@d; f(token=3)"
    )
    assert errors.redacted("https://host:80/a/b.jsonl, s3://bucket/part-?.jsonl") == (
        "https://host:80/a/b.jsonl, s3://bucket/part-?.jsonl"
    )
    kept = "{'url': 'https://host/@a?b=1', 'c': 'd'} (https://host/?b=1) ends"
    assert errors.redacted(kept) == kept.replace("b=1", "***")
    plain = "is it https://host/a? or https://host/a%20b;c#d of https://host/@a, with s3://b/part-?.jsonl and 'http://a?'"
    assert errors.redacted(plain) == plain


@pytest.mark.parametrize("part", ["a://x?", "a://x:y", "a://x", "?", ";", "'", "a%", "a:", "a://x?=", "@", "a://u:p@h?'"])
def test_secrets_are_sought_in_linear_time(part):
    """A text of 400,000 characters takes less than a second; a search that begins anew at each part takes minutes."""
    errors.redacted("https://host/" + part * (400_000 // len(part)))


def test_no_control_character_is_printed(caplog):
    """Names of files and reasons may hold ESC and bytes that are not UTF-8; no message passes them on."""
    nasty = "a\x1b]0;owned\x07\r\x9b31m\u202a\u202b\u202e\u2066\u2067\u2068\u2069\udcff"
    logging.getLogger("dataprep").warning("%s", nasty)
    for text in (str(errors.ReadError("it is empty", nasty)), caplog.messages[0]):
        assert not set(text) & {"\x1b", "\x07", "\r", "\x9b", *"\u202a\u202b\u202e\u2066\u2067\u2068\u2069", "\udcff"}
        assert "owned" in text
    assert str(errors.ReadError("cut\n  here", "a\nb")) == "a\N{REPLACEMENT CHARACTER}b: cut here"
