// SST has this file: what it was built with.
