"""Deduplication: estimators by name, and beside them the machines they are made of.

exact minhash url        -> near/        sign, match, cluster, gather, verify: documents that are alike
exact (unit=...)         -> pieces/      paragraphs, lines, spans that stand earlier
suffix_array             -> substrings/  windows of words or bytes that stand earlier, in bounded memory
bloom                    -> membership/  keys that were seen before
semantic                 -> embeddings/  documents as vectors, clustered and compared
keep                                     which copy stays
"""
