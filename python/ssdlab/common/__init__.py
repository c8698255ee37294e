"""What knows nothing of SSDs: files, signals, tables on a terminal, confidence intervals."""
