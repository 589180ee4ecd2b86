"""People with several names and numbers: a file that lists them, and the evidence from which it is proposed."""
