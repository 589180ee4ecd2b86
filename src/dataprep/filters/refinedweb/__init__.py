"""RefinedWeb: corrections of the lines of web pages, and their kernel."""
