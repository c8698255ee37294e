"""Files of other tools become devices, workloads and options of ordinary runs."""
