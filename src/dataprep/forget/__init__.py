"""Removal of documents on request: `dp.forget` is the function in `forget.py`, `dataprep.forget` this folder.

forget.py      the function: finds the documents everywhere, writes the forget lists, then rewrites their files
family.py      which folders of a run were made of which others, and the ids that a document has in each
copies.py      duplicates of forgotten documents, and documents that they were made part of
datasets.py    sealed Datasets without some documents
tokens.py      token shards without some documents
leftovers.py   work files to remove, Bloom filters to fill again, and files that may still hold the text
"""
