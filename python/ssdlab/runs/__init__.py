"""Runs: their options, how they are played, and their results."""
