#include "store/container.h"

#include <fmt/format.h>

namespace oxbow::stores {

std::string to_string(SectionId id) {
  return fmt::format("kind {} index {}", id.kind, id.index);
}

}  // namespace oxbow::stores
