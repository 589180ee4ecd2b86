"""DiscordChatExporter files: JSON and CSV."""
