#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace oxbow {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "oxbow: internal error: %s does not hold (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace oxbow
