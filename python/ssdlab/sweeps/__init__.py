"""Sweeps: many runs, kept in a cache, played here or elsewhere, as one table."""
