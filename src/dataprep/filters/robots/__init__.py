"""Robots: apply the robots.txt of each document's host."""
