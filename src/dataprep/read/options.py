"""The options of `read` for type checkers: fields of the readers of this package, and options of data sets."""

from __future__ import annotations

from typing import TypedDict


class ReadOptions(TypedDict, total=False):
    """Additional options of `dp.read`; each format accepts some of them, which its reader describes.

    Attributes:
        max_doc_bytes: all formats.
        max_bad: all formats except whole files and parquet. meta, source: jsonl, json, zip, tar, parquet and csv.
        delimiter, names: csv.
        records_in: json.
        namespaces: mediawiki.
        table, query: sqlite.
        strict, digests: wet, warc, arc and wat.
        status, types: warc and arc.
        extract, main_content, list_bullets, comments, alt_texts, links, form_fields, noscript: warc, arc and html.
        date_order: whatsapp, line and discord.
        me: signal, imessage, sms and discord.
        author: slack and discord.
        line: chat.
        split, config, revision: Hugging Face data sets.
        key: Hugging Face data sets, and rows in memory.
        out: the folder for rows of data sets and of tables in memory.
    """

    max_doc_bytes: int
    max_bad: float
    meta: bool
    source: str
    delimiter: str
    names: tuple[str, ...]
    records_in: str
    namespaces: tuple[int, ...]
    table: str
    query: str
    strict: bool
    digests: bool | None
    status: tuple[int, ...]
    types: tuple[str, ...]
    extract: str
    main_content: bool
    list_bullets: bool
    comments: bool | None
    alt_texts: bool
    links: bool
    form_fields: bool
    noscript: bool
    date_order: str | None
    me: str | None
    author: str
    line: str
    split: str | None
    config: str | None
    revision: str | None
    key: str | None
    out: str
