"""Searches: the best configurations of a drive under several objectives, found by racing."""
