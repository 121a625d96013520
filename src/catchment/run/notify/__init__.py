"""Tells people what happens while nobody watches: hooks get a message, and nothing waits for them."""
