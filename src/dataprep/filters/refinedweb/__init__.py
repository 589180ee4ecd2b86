"""RefinedWeb: corrections of lines, and their kernel."""
