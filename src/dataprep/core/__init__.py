"""The six words (Batch, Dataset, Stage, Estimator, Runner, Stats) and the planner that runs them."""
