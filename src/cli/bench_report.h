#pragma once
// The table of `oxbow bench`, in the columns and formats of llama-bench, which people paste and parse.

#include <string>
#include <vector>

#include "cli/bench_plan.h"
#include "cli/roofline.h"

namespace oxbow::cli {

struct BenchModel {
  std::string file;
  std::string type;  // "granitehybrid 350M Q4_K - Medium"
  uint64_t size_bytes = 0;
  uint64_t parameters = 0;
  double load_seconds = 0;
};
BenchModel describe_model(const model::Model& model, double load_seconds);

struct BenchRow {
  BenchModel model;
  BenchTest test;
  size_t threads = 0;
  size_t batch = 0;
  memory::KvTypes kv;
  std::vector<double> seconds;  // of each repetition
  ModelWork::PerToken work;
  Peaks peaks;              // of that many threads; 0: unknown
  uint64_t peak_bytes = 0;  // resident memory of the process at most, up to this row
};

struct Spread {
  double mean = 0;
  double deviation = 0;  // of a sample; 0 with one value
};
Spread spread_of(const std::vector<double>& values);
std::vector<double> tokens_per_second(const BenchRow& row);

// The table piece by piece, so that rows appear as they are measured. Columns for batch and cache types are
// there when they are not the default.
std::string markdown_header(const BenchOptions& options);
std::string markdown_row(const BenchOptions& options, const BenchRow& row);
// Bytes and operations of each row and their shares of the peaks.
std::string markdown_roofline(const std::vector<BenchRow>& rows);

std::string csv_table(const std::vector<BenchRow>& rows);
std::string json_table(const std::vector<BenchRow>& rows);

}  // namespace oxbow::cli
