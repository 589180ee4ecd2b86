"""A trained model as a partner to talk to: its tokenizer, its chat template, the terminal and the web page."""
