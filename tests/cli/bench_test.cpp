#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/cpu.h"
#include "cli/bench_plan.h"
#include "cli/bench_report.h"
#include "cli/binary.h"
#include "support/shared.h"

namespace oxbow::cli {
namespace {

using nlohmann::json;
using oxbow::testing::ProgramRun;
using oxbow::testing::run_program;
using oxbow::testing::source_path;

BenchOptions bench_options(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "bench");
  auto command = parse_command_line(arguments);
  if (!command) {
    ADD_FAILURE() << command.error().text;
    return {};
  }
  return std::get<BenchOptions>(std::move(*command));
}

std::string usage_error(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "bench");
  const auto command = parse_command_line(arguments);
  if (command) return "accepted";
  EXPECT_EQ(command.error().exit_code, 2);
  return command.error().text;
}

std::vector<std::string> names(const BenchOptions& options) {
  std::vector<std::string> names;
  for (const BenchTest& test : bench_tests(options)) names.push_back(test.name());
  return names;
}

TEST(Bench, WithoutFlagsMeasuresWhatPeopleExpect) {
  const BenchOptions o = bench_options({});
  EXPECT_EQ(names(o), (std::vector<std::string>{"pp512", "tg128"}));
  EXPECT_EQ(o.repeat, 5u);
  EXPECT_TRUE(o.warm_up);
  EXPECT_TRUE(o.threads.empty());
}

TEST(Bench, TheFlagsThatPeopleKnowAreUnderstood) {
  const BenchOptions o =
      bench_options({"-m",  "a.gguf", "-p",  "64,128", "-n", "0",  "-pg",  "32,8", "-d",  "0,16", "-b",
                     "256", "-t",     "1-2", "-r",     "3",  "-o", "json", "-ctk", "f32", "-ngl", "99"});
  EXPECT_EQ(o.models, std::vector<std::string>{"a.gguf"});
  EXPECT_EQ(names(o), (std::vector<std::string>{"pp64", "pp128", "pp32+tg8", "pp64 @ d16", "pp128 @ d16",
                                                "pp32+tg8 @ d16"}));
  EXPECT_EQ(o.batches, std::vector<size_t>{256});
  EXPECT_EQ(o.threads, (std::vector<size_t>{1, 2}));
  EXPECT_EQ(o.repeat, 3u);
  EXPECT_EQ(o.format, BenchFormat::kJson);
  EXPECT_EQ(o.memory.kv.key, kernels::KvType::kF32);
}

TEST(Bench, SequencesTogetherAndDraftsAreTestsOfTheirOwn) {
  const BenchOptions o = bench_options(
      {"a.gguf", "b.gguf", "-p", "0", "-n", "16", "--parallel", "1-16*4", "--draft", "9", "-d", "512"});
  EXPECT_EQ(o.models, (std::vector<std::string>{"a.gguf", "b.gguf"}));
  EXPECT_EQ(names(o),
            (std::vector<std::string>{"tg16 @ d512", "tg16 x4 @ d512", "tg16 x16 @ d512", "draft9 @ d512"}));
}

TEST(Bench, WrongValuesAreNamed) {
  const auto expect = [](std::vector<std::string> arguments, const std::string& part) {
    const std::string message = usage_error(arguments);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect({"-t", "0"}, "--threads: expected 1 to 1024, 0 was given");
  expect({"-t", "2000"}, "expected 1 to 1024, 2000 was given");
  expect({"-t", "two"}, "expected numbers such as 512,2048 or 1-16*2, \"two\" was given");
  expect({"-p", "512,"}, "\"\" was given");
  expect({"-p", "-5"}, "\"-5\" was given");
  expect({"-p", "1-8*1"}, "\"1-8*1\" was given");
  expect({"-p", "1-1000"}, "at most 64 numbers");
  expect({"-pg", "512"}, "expected pairs from 1 such as 512,128");
  expect({"-pg", "512,0"}, "expected pairs");
  expect({"-r", "0"}, "expected a whole number from 1 to 1000");
  expect({"-o", "xml"}, "expected md or csv or json");
  expect({"-p", "0", "-n", "0"}, "nothing to measure");
  expect({"-b", "4", "--parallel", "8"}, "8 tokens do not fit in one step of -b 4");
  expect({"-b", "0"}, "expected 1 to 65536");
}

BenchRow some_row() {
  BenchRow row;
  row.model = {"m.gguf", "granitehybrid 350M Q4_K - Medium", 222'298'112, 340'000'000, 0.5};
  row.test = {.generate = 10, .parallel = 2, .depth = 512};
  row.threads = 2;
  row.batch = 512;
  row.seconds = {0.5, 0.4};
  row.work = {1e8, 5e8};
  row.peaks = {4e10, 1e12};
  return row;
}

TEST(Bench, TheTableHasTheColumnsThatPeoplePaste) {
  EXPECT_EQ(markdown_header({}),
            "| model                          |       size |     params | backend    | threads |            "
            "test |                  t/s |\n"
            "| ------------------------------ | ---------: | ---------: | ---------- | ------: | "
            "--------------: | -------------------: |\n");
  EXPECT_EQ(
      markdown_row({}, some_row()),
      "| granitehybrid 350M Q4_K - Medium | 212.00 MiB |   340.00 M | CPU        |       2 |  tg10 x2 @ "
      "d512 |         45.00 ± 7.07 |\n");
  const BenchOptions wide = bench_options({"-b", "64,512", "-ctv", "f32"});
  EXPECT_NE(markdown_header(wide).find("| threads | n_batch | type_v |"), std::string::npos);
}

TEST(Bench, TheRooflineGivesSharesOfWhatWasMeasured) {
  // 45 tokens a second of 0.1 GB and 0.5 G operations, of 40 GB/s and 1000 G operations a second.
  const std::string roofline = markdown_roofline({some_row()});
  EXPECT_NE(roofline.find("| 100.00 | 11 % of 40.0 | 500.0 | 2 % of 1000 |"), std::string::npos) << roofline;
  BenchRow unknown = some_row();
  unknown.peaks = {};
  EXPECT_EQ(markdown_roofline({unknown}), "");
}

TEST(Bench, JsonAndCsvHoldTheSameNumbers) {
  const json table = json::parse(json_table({some_row(), some_row()}), nullptr, false);
  ASSERT_TRUE(table.is_array());
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0]["n_gen"], 10);
  EXPECT_EQ(table[0]["n_parallel"], 2);
  EXPECT_EQ(table[0]["samples_ns"][0], 500'000'000);
  EXPECT_NEAR(table[0]["avg_ts"].get<double>(), 45.0, 1e-9);
  EXPECT_NEAR(table[0]["read_share"].get<double>(), 45e8 / 4e10, 1e-9);
  EXPECT_EQ(json_table({}), "[]\n");
  const std::string csv = csv_table({some_row(), some_row()});
  EXPECT_EQ(std::ranges::count(csv, '\n'), 3);
  EXPECT_EQ(csv.find("build_version,"), 0u);
  EXPECT_NE(csv.find(",\"tg10 x2 @ d512\","), std::string::npos);
}

std::shared_ptr<const model::Model> golden(const std::string& name) {
  ThreadPool pool(1);
  auto file = gguf::File::open(source_path("tests/golden/" + name + ".gguf"));
  auto model = model::Model::load(std::make_shared<const gguf::File>(std::move(*file)), pool);
  return std::move(*model);
}

TEST(Bench, BytesAndOperationsFollowFromTheModel) {
  const auto llama = golden("llama");  // width 64, 2 layers, 4 and 2 heads of 16, 96 wide, tied head of 512
  const memory::MemoryLayout layout(llama->state_specs(), {});
  const ModelWork work(*llama, layout);
  const double layers = 2 * (64.0 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 96);
  const double head = 64.0 * 512;
  const auto one = work.of({.generate = 1, .depth = 9}, 512);
  EXPECT_DOUBLE_EQ(one.ops, 2 * (layers + head));
  EXPECT_DOUBLE_EQ(one.bytes, 4 * (layers + head) + 10 * static_cast<double>(layout.kv_bytes_per_token()));
  // Eight sequences share the weights; a prompt needs the head once.
  const auto eight = work.of({.generate = 1, .parallel = 8, .depth = 9}, 512);
  EXPECT_DOUBLE_EQ(eight.ops, one.ops);
  EXPECT_LT(eight.bytes, one.bytes / 4);
  const auto prompt = work.of({.prompt = 100}, 50);
  EXPECT_DOUBLE_EQ(prompt.ops, 2 * (layers + head / 100));
  EXPECT_DOUBLE_EQ(work.of({.draft = 4}, 512).ops, one.ops);
}

TEST(Bench, ExpertsCountAsFarAsTheyAreChosen) {
  const auto experts = golden("granitehybrid-moe");
  const memory::MemoryLayout layout(experts->state_specs(), {});
  const ModelWork work(*experts, layout);
  const auto one = work.of({.generate = 1}, 512);
  const auto many = work.of({.generate = 1, .parallel = 64}, 512);
  EXPECT_DOUBLE_EQ(one.ops, many.ops);
  const double weights = static_cast<double>(experts->weight_bytes());
  const double states =
      2 * static_cast<double>(layout.state_bytes()) + static_cast<double>(layout.kv_bytes_per_token());
  EXPECT_LT(one.bytes - states, 0.95 * weights);
  EXPECT_NEAR(64 * (many.bytes - states), weights, 0.01 * weights);
}

TEST(Bench, PeaksAreMeasured) {
  const auto peaks = measure_peaks(1);
  ASSERT_TRUE(peaks);
  EXPECT_GT(peaks->read_bytes, 1e8);
  EXPECT_GT(peaks->dot_ops, 1e8);
}

TEST(Bench, TheBundledModelRunsEveryKindOfTest) {
  const ProgramRun outcome = run_program({"bench", "-p", "8", "-n", "2", "-pg", "4,2", "--parallel", "1,2",
                                          "--draft", "3", "-d", "0,5", "-r", "2", "-t", "1", "-o", "json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json table = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(table.is_array()) << outcome.out;
  std::vector<std::string> tests;
  for (const json& row : table) {
    tests.push_back(row["test"]);
    EXPECT_EQ(row["samples_ts"].size(), 2u);
    EXPECT_GT(row["avg_ts"].get<double>(), 0.0);
    EXPECT_GT(row["bytes_per_token"].get<double>(), 0.0);
    EXPECT_GT(row["dot_ops_per_s"].get<double>(), 0.0);
  }
  EXPECT_EQ(tests.size(), 12u);
  EXPECT_EQ(tests[0], "pp8");
  EXPECT_EQ(tests[11], "draft3 @ d5");
}

TEST(Bench, MoreThreadsThanCoresAreWarnedAbout) {
  const std::string many = std::to_string(usable_cores() + 1);
  const ProgramRun outcome = run_program({"bench", "-p", "2", "-n", "0", "-r", "1", "-t", many, "--no-warmup",
                                          "-m", source_path("tests/golden/llama.gguf")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find(many + " threads share the"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("| llama "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("roofline"), std::string::npos) << outcome.out;
}

TEST(Bench, AMissingModelIsNamed) {
  const ProgramRun outcome = run_program({"bench", "no-such.gguf", "-o", "json"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out, "[]\n");
  EXPECT_NE(outcome.err.find("no-such.gguf"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace oxbow::cli
