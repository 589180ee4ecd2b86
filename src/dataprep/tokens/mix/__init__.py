"""Mixtures: choose how many tokens each source contributes, and write them."""
