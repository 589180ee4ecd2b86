"""Removal of documents on request: the function `dp.tools.forget` is in `forget.py`.

forget.py      the function: it makes a plan, applies it, and reports
family.py      the folders from which each folder of a run was made, and a document's ids in each folder
plan.py        which documents to remove from which folders; nothing is written
copies.py      duplicates of forgotten documents, and conversations that contain forgotten messages
rewrite.py     the next result of a folder; datasets.py, tokens.py: its files without some documents
leftovers.py   work files to remove, and files that may still hold the text; filters.py: Bloom filters to fill again
"""
