"""Deduplication: the Estimators (which read all documents before they decide), and the packages that implement them.

exact minhash url        -> near/        hash, match, cluster, gather, verify: similar documents
exact (unit=...)         -> spans/       paragraphs, lines, spans that occur earlier
suffix_array             -> substrings/  windows of words or bytes that occur earlier, in bounded memory
bloom                    -> membership/  hashes of texts (keys) that were seen before
semantic                 -> embeddings/  documents as vectors, clustered and compared
keep                                     the choice of the kept copy
"""
