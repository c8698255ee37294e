#include <sst/core/stub.h>
