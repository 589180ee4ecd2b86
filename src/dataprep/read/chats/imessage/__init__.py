"""Apple's Messages: the database `chat.db`, and the text files of imessage-exporter."""
