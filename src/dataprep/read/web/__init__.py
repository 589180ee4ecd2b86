"""Crawl archives: WARC, ARC, WAT and WET records, and the text of their pages."""
