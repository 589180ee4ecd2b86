"""People who are several names and numbers: a file that states them, and the evidence from which it is proposed."""
