"""Language identification of single messages: word lists, kernel, and the stage `MessageLanguage`."""
