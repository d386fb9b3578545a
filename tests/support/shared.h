#pragma once
// Test data that lives outside the repository: golden files of every family and real vocabularies.

#include <gtest/gtest.h>

#include <string>

namespace oxbow::testing {

// The folder given by OXBOW_SHARED, else "../shared" beside the source tree; empty when there is none.
std::string shared_directory();

// A file of the repository.
std::string source_path(const std::string& relative);

}  // namespace oxbow::testing

// Skips a test that needs the shared folder, saying so. With OXBOW_REQUIRE_SHARED set (CI) its absence is a
// failure.
#define OXBOW_NEEDS_SHARED()                                                               \
  do {                                                                                     \
    if (::oxbow::testing::shared_directory().empty()) {                                    \
      if (std::getenv("OXBOW_REQUIRE_SHARED") != nullptr)                                  \
        FAIL() << "the shared test data folder is missing";                                \
      GTEST_SKIP() << "the shared test data folder (OXBOW_SHARED) is not on this machine"; \
    }                                                                                      \
  } while (false)
