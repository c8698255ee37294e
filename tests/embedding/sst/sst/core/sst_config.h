// SST has this file: what it was built with. It comes before all others.
#define PACKAGE_VERSION "of the tests"
