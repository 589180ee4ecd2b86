"""A trained model to talk to: tokenizer, chat template, terminal, web page, and the files of other programs."""
