"""What the code of docs/explore.md needs."""

LEFT = {"dataprep explore": "it serves until Ctrl-C; tests/explore tests it"}
