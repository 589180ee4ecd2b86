"""Readers of web crawl archives (WARC, ARC, WAT and WET), and the extraction of text from web pages."""
