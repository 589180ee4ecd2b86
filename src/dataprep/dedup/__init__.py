"""Deduplication: estimators by name, and beside them the machines they are made of.

exact minhash url        -> pairs/     sign, match, cluster, gather, verify: documents that are alike
exact (unit=...)         -> units/     paragraphs, lines, spans that stand earlier
suffix                   -> windows/   windows of words or bytes that stand earlier, in bounded memory
bloom                    -> seen/      keys that were seen before
semantic                 -> vectors/   documents as vectors, clustered and compared
suffix_index             -> suffixes/  suffix arrays on disk, and questions to them
keep spill                             which copy stays; how passes hand over their work
"""
