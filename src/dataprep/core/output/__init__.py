"""Output folders: the names of their files, their state, and how a result is committed."""
