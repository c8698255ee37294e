"""The command line, a module a group of commands. What is heavy (rich, polars) is imported where it is used: start-up
stays below 0.1 s of CPU."""
