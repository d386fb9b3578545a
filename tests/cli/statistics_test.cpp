#include "cli/statistics.h"

#include <gtest/gtest.h>

#include "cli/progress.h"

namespace oxbow::cli {
namespace {

TEST(Statistics, ALineHoldsEverythingOfAnAnswer) {
  Statistics s;
  s.answer_tokens = 214;
  s.answer_steps = 213;
  s.answer_seconds = 213 / 12.3;
  s.prompt_tokens = 3412;
  s.reused_tokens = 2048;
  s.prompt_seconds = (3412 - 2048) / 512.0;
  s.first_token_seconds = 2.7;
  s.context_used = 5734;
  s.context_size = 32768;
  EXPECT_EQ(format_statistics(s),
            "214 tok · 12.3 t/s · prompt 3 412 (2 048 cached) 512 t/s · first token 2.7 s · ctx 5.6k/32k");
}

TEST(Statistics, WhatDidNotHappenIsLeftOut) {
  Statistics s;
  s.prompt_tokens = 12;
  s.prompt_seconds = 0.1;
  s.context_used = 12;
  s.context_size = 640;
  EXPECT_EQ(format_statistics(s), "0 tok · prompt 12 120 t/s · ctx 12/640");
}

TEST(Statistics, NumbersAreShortAndGrouped) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1 000");
  EXPECT_EQ(format_count(1234567), "1 234 567");
  EXPECT_EQ(format_kilo(1023), "1023");
  EXPECT_EQ(format_kilo(4096), "4k");
  EXPECT_EQ(format_kilo(10189), "10k");
  EXPECT_EQ(format_kilo(131072), "128k");
  EXPECT_EQ(format_bytes(1), "1 byte");
  EXPECT_EQ(format_bytes(1023), "1023 bytes");
  EXPECT_EQ(format_bytes(1536), "1.5 KB");
  EXPECT_EQ(format_bytes(uint64_t{57} << 20), "57 MB");
  EXPECT_EQ(format_bytes((uint64_t{1} << 20) - 1), "1.0 MB");
  EXPECT_EQ(format_rate(0), "0.00");
  EXPECT_EQ(format_rate(12.34), "12.3");
  EXPECT_EQ(format_rate(99.96), "100");
  EXPECT_EQ(format_rate(12345), "12 345");
  EXPECT_EQ(format_seconds(0.236), "0.24 s");
  EXPECT_EQ(format_seconds(2.71), "2.7 s");
  EXPECT_EQ(format_seconds(185.4), "3 min 5 s");
}

TEST(Progress, TheLinesSayHowFarAndHowFast) {
  Progress::State prompt{3412, 8190, 2048, 2.0};
  EXPECT_EQ(format_prompt(prompt), "prompt 3 412/8 190 tok  41% 682 t/s  (2 048 cached)");
  Progress::State load{size_t{1} << 30, size_t{4} << 30, 0, 2.0};
  EXPECT_EQ(format_load(load), "load 1.0 GB/4.0 GB  25% 512 MB/s, 6.0 s left");
  EXPECT_EQ(format_load({0, 100, 0, 0.0}), "load 0 bytes/100 bytes   0%");
}

}  // namespace
}  // namespace oxbow::cli
