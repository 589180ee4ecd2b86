"""Keys that were seen before, in a filter that is sized by counting them first. The machine behind Bloom."""
