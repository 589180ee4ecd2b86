"""Deduplication: Exact and MinHash propose pairs by hash, and delete only what was compared.

Both are the same five passes (`search.py`), with another sketch: *sign* every document with keys; *match* equal keys;
*cluster* what matched, which only decides who meets where; *gather* the contents of one cluster in one partition;
*verify* there, in keep order, against documents that are kept.
"""
