"""Removal of documents on request: `dp.forget` is the function in `forget.py`, `dataprep.forget` this folder.

forget.py      the function: finds the documents everywhere, writes the forget lists, then rewrites the files family.py
the folders from which each folder of a run was made, and a document's ids in each folder
copies.py      duplicates of forgotten documents, and conversations that contain forgotten messages
datasets.py    sealed Datasets without some documents
tokens.py      token shards without some documents
leftovers.py   work files to remove, Bloom filters to fill again, and files that may still hold the text
"""
