"""How results are shown: tables on a terminal, and HTML in a notebook."""
