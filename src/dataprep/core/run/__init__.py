"""How tasks are run: the plan, the Runners, and the passes over documents."""
