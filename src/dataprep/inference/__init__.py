"""Use a trained model: tokenizer, chat template, terminal, web page, and the files of other programs."""
