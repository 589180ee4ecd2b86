"""LINE's text exports: dates in several languages, placeholders, and the forms of phone and desktop."""
