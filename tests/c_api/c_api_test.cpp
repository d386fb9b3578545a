// The C interface: runs the cases that are written in C, and tests what only C++ can bring about.

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "base/log.h"
#include "c_api/objects.h"
#include "cases.h"

extern "C" void test_failed(const char* file, int line, const char* expression) {
  ADD_FAILURE_AT(file, line) << expression << "\nlast error: " << oxbow_last_error();
}

extern "C" void test_log(const char* message) {
  oxbow::log(oxbow::LogLevel::kInfo, "test", "{}", message);
}

namespace oxbow::c_api {
namespace {

// Every case leaves no handle behind.
#define OXBOW_RUN_CASE(name)              \
  TEST(CApi, name) {                      \
    const size_t before = live_handles(); \
    case_##name();                        \
    if (!HasFailure()) {                  \
      EXPECT_EQ(live_handles(), before);  \
    }                                     \
  }
OXBOW_C_CASES(OXBOW_RUN_CASE)

TEST(CApi, ASecondThreadIsRefusedWhileAnEngineOrSamplerWorks) {
  oxbow_sampler* sampler = nullptr;
  ASSERT_EQ(oxbow_sampler_create(nullptr, &sampler), OXBOW_OK);
  const float logits[] = {1.0f, 2.0f};
  oxbow_token token = 0;
  {
    const auto use = use_sampler(sampler);
    ASSERT_TRUE(use);
    EXPECT_EQ(oxbow_sampler_sample(sampler, logits, 2, nullptr, 0, &token), OXBOW_INVALID_STATE);
    EXPECT_STREQ(oxbow_last_error(), "another thread is using the sampler");
  }
  EXPECT_EQ(oxbow_sampler_sample(sampler, logits, 2, nullptr, 0, &token), OXBOW_OK);
  EXPECT_EQ(oxbow_sampler_free(sampler), OXBOW_OK);

  const auto object = std::make_shared<EngineObject>();
  oxbow_engine* engine = engines().add(object);
  object->busy.test_and_set();
  EXPECT_EQ(oxbow_engine_evict(engine, 1), OXBOW_INVALID_STATE);
  EXPECT_EQ(oxbow_engine_free(engine), OXBOW_OK);
}

TEST(CApi, AnObjectThatIsFreedDuringACallLivesUntilItsEnd) {
  oxbow_sampler* sampler = nullptr;
  ASSERT_EQ(oxbow_sampler_create(nullptr, &sampler), OXBOW_OK);
  const float logits[] = {1.0f, 2.0f};
  auto use = use_sampler(sampler);
  ASSERT_TRUE(use);
  EXPECT_EQ(oxbow_sampler_free(sampler), OXBOW_OK);
  EXPECT_LT((*use)->sampler.sample(logits, {}), 2);
}

TEST(CApi, NoExceptionCrossesTheBorder) {
  EXPECT_EQ(guarded([]() -> Outcome { throw std::bad_alloc(); }), OXBOW_OUT_OF_MEMORY);
  EXPECT_STREQ(oxbow_last_error(), "the system has no memory for this call");
  EXPECT_EQ(guarded([]() -> Outcome { throw std::length_error("too long"); }), OXBOW_OUT_OF_MEMORY);
  EXPECT_EQ(guarded([]() -> Outcome { throw std::runtime_error("a stone"); }), OXBOW_INTERNAL);
  EXPECT_STREQ(oxbow_last_error(), "internal error: a stone");
  EXPECT_EQ(guarded([]() -> Outcome { throw 3; }), OXBOW_INTERNAL);

  const auto thrower = [](size_t, size_t, void*) -> bool { throw std::runtime_error("from a callback"); };
  oxbow_model_options options{};
  options.struct_size = sizeof options;
  options.progress = thrower;
  oxbow_model* model = nullptr;
  EXPECT_EQ(oxbow_model_load(OXBOW_SOURCE_DIR "/tests/golden/llama.gguf", &options, &model), OXBOW_INTERNAL);
  EXPECT_EQ(model, nullptr);
}

}  // namespace
}  // namespace oxbow::c_api
