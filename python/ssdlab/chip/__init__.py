"""Virtual chips: characterization, lifetimes, figures, and the error-correcting code."""
