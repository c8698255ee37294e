#include "stub.hh"
