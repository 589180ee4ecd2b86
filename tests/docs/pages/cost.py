"""The only command of docs/cost.md is not run here."""

LEFT = {"dataprep plan": "the file of steps is that of another page"}
