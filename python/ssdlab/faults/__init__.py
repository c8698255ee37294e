"""Campaigns of faults: seeded cases over devices, workloads and schemes, their outcomes, and failures made small."""
