"""Personal data in text: rules, the compiled prefilter, and the stage `PII`."""
