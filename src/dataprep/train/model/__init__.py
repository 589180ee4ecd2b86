"""The model: a decoder-only GPT, its layers, its attention rules and its cache.

Shape letters at the end of a name: B batch, T tokens, S tokens attended to, D width of the model, H heads of
queries, K of keys and values, C width of a head, F hidden width of the feed-forward layer, V vocabulary.

Weights are float32; activations have `compute_dtype`, and each layer casts its own weight (no autocast).
"""
