"""The six basic classes (Batch, Dataset, Stage, Estimator, Runner, Stats), and Pipeline, which runs stages."""
