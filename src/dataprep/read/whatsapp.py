def looks_like_chat(url): return False
