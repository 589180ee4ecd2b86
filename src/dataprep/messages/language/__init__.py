"""The language of single messages: word lists, kernel, and the stage `MessageLanguage`."""
