"""Execution of tasks: the plan, the Runners, and the passes over documents."""
