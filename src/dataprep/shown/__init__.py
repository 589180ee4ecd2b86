"""Display of results: tables on a terminal, and HTML in a notebook."""
