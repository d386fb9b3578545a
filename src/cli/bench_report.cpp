#include "cli/bench_report.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "base/cpu.h"
#include "kernels/kernels.h"

namespace oxbow::cli {
namespace {

using Json = nlohmann::ordered_json;

// general.file_type: the mixtures that have a name of their own.
std::string file_type_name(uint64_t type) {
  static const std::map<uint64_t, const char*> kNames = {
      {0, "F32"},
      {1, "F16"},
      {2, "Q4_0"},
      {3, "Q4_1"},
      {7, "Q8_0"},
      {8, "Q5_0"},
      {9, "Q5_1"},
      {10, "Q2_K - Medium"},
      {11, "Q3_K - Small"},
      {12, "Q3_K - Medium"},
      {13, "Q3_K - Large"},
      {14, "Q4_K - Small"},
      {15, "Q4_K - Medium"},
      {16, "Q5_K - Small"},
      {17, "Q5_K - Medium"},
      {18, "Q6_K"},
      {25, "IQ4_NL"},
      {30, "IQ4_XS"},
      {32, "BF16"},
      {38, "MXFP4 MoE"},
  };
  const auto found = kNames.find(type);
  return found == kNames.end() ? std::string() : found->second;
}

// The type that most bytes have.
std::string main_type(const gguf::File& file) {
  std::map<std::string_view, uint64_t> bytes;
  for (const gguf::Tensor& tensor : file.tensors()) {
    bytes[gguf::tensor_type_info(tensor.type).name] += tensor.data.size();
  }
  std::string_view main;
  for (const auto& [name, count] : bytes) {
    if (main.empty() || count > bytes[main]) main = name;
  }
  return std::string(main);
}

std::string scaled(double value, const char* small, double unit, const char* large) {
  return value < unit ? fmt::format("{:.2f} {}", value, small)
                      : fmt::format("{:.2f} {}", value / unit, large);
}

std::string size_label(uint64_t bytes) {
  return scaled(static_cast<double>(bytes) / (1 << 20), "MiB", 1024, "GiB");
}

std::string parameter_label(uint64_t parameters) {
  return scaled(static_cast<double>(parameters) / 1e6, "M", 1000, "B");
}

// "350M", "1.5B"
std::string short_count(uint64_t count) {
  const double value = static_cast<double>(count) / (count < 1'000'000'000 ? 1e6 : 1e9);
  return fmt::format("{:.{}f}{}", value, value < 10 ? 1 : 0, count < 1'000'000'000 ? "M" : "B");
}

const char* kv_name(kernels::KvType type) {
  return type == kernels::KvType::kF32 ? "f32" : "f16";
}

struct Column {
  std::string title;
  int width;
  bool right;
};

std::vector<Column> columns_of(const BenchOptions& options) {
  std::vector<Column> columns = {{"model", 30, false},
                                 {"size", 10, true},
                                 {"params", 10, true},
                                 {"backend", 10, false},
                                 {"threads", 7, true}};
  if (options.batches != std::vector<size_t>{512}) columns.push_back({"n_batch", 7, true});
  if (options.memory.kv.key != kernels::KvType::kF16) columns.push_back({"type_k", 6, true});
  if (options.memory.kv.value != kernels::KvType::kF16) columns.push_back({"type_v", 6, true});
  columns.push_back({"test", 15, true});
  columns.push_back({"t/s", 20, true});
  return columns;
}

// Columns on a terminal: "±" is one, and two bytes.
size_t columns_wide(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

std::string cell(const Column& column, const std::string& text) {
  const size_t wide = columns_wide(text);
  const std::string space(wide < static_cast<size_t>(column.width) ? column.width - wide : 0, ' ');
  return column.right ? fmt::format(" {}{} |", space, text) : fmt::format(" {}{} |", text, space);
}

std::string field(const BenchRow& row, const std::string& title) {
  if (title == "model") return row.model.type;
  if (title == "size") return size_label(row.model.size_bytes);
  if (title == "params") return parameter_label(row.model.parameters);
  if (title == "backend") return "CPU";
  if (title == "threads") return fmt::format("{}", row.threads);
  if (title == "n_batch") return fmt::format("{}", row.batch);
  if (title == "type_k") return kv_name(row.kv.key);
  if (title == "type_v") return kv_name(row.kv.value);
  if (title == "test") return row.test.name();
  const Spread speed = spread_of(tokens_per_second(row));
  return fmt::format("{:.2f} ± {:.2f}", speed.mean, speed.deviation);
}

double speed_of(const BenchRow& row) {
  return spread_of(tokens_per_second(row)).mean;
}
double read_share(const BenchRow& row) {
  return row.peaks.read_bytes > 0 ? speed_of(row) * row.work.bytes / row.peaks.read_bytes : 0;
}
double dot_share(const BenchRow& row) {
  return row.peaks.dot_ops > 0 ? speed_of(row) * row.work.ops / row.peaks.dot_ops : 0;
}

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text, length};
}

Json json_row(const BenchRow& row) {
  const std::vector<double> speeds = tokens_per_second(row);
  std::vector<uint64_t> nanoseconds;
  for (const double s : row.seconds) nanoseconds.push_back(static_cast<uint64_t>(s * 1e9));
  const Spread time = spread_of(row.seconds);
  const Spread speed = spread_of(speeds);
  return {{"build_version", OXBOW_VERSION},
          {"kernels", kernels::kernels().name},
          {"backends", "CPU"},
          {"model_filename", row.model.file},
          {"model_type", row.model.type},
          {"model_size", row.model.size_bytes},
          {"model_n_params", row.model.parameters},
          {"load_s", row.model.load_seconds},
          {"n_batch", row.batch},
          {"n_threads", row.threads},
          {"type_k", kv_name(row.kv.key)},
          {"type_v", kv_name(row.kv.value)},
          {"n_prompt", row.test.prompt},
          {"n_gen", row.test.generate},
          {"n_draft", row.test.draft},
          {"n_parallel", row.test.parallel},
          {"n_depth", row.test.depth},
          {"test", row.test.name()},
          {"test_time", time_now()},
          {"avg_ns", static_cast<uint64_t>(time.mean * 1e9)},
          {"stddev_ns", static_cast<uint64_t>(time.deviation * 1e9)},
          {"avg_ts", speed.mean},
          {"stddev_ts", speed.deviation},
          {"bytes_per_token", row.work.bytes},
          {"ops_per_token", row.work.ops},
          {"read_bytes_per_s", row.peaks.read_bytes},
          {"dot_ops_per_s", row.peaks.dot_ops},
          {"read_share", read_share(row)},
          {"dot_share", dot_share(row)},
          {"peak_rss", row.peak_bytes},
          {"samples_ns", nanoseconds},
          {"samples_ts", speeds}};
}

std::string quoted(const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

BenchModel describe_model(const model::Model& model, double load_seconds) {
  const gguf::File& file = model.file();
  BenchModel described;
  described.file = file.path();
  described.size_bytes = file.size_bytes();
  described.parameters = model.parameter_count();
  described.load_seconds = load_seconds;
  const auto label = file.find_string("general.size_label");
  const auto type = file.find_uint("general.file_type");
  std::string name = type && *type ? file_type_name(**type) : std::string();
  if (name.empty()) name = main_type(file);
  const std::string size = label && *label ? std::string(**label) : short_count(described.parameters);
  described.type = fmt::format("{} {} {}", model.architecture(), size, name);
  return described;
}

Spread spread_of(const std::vector<double>& values) {
  Spread spread;
  if (values.empty()) return spread;
  const double count = static_cast<double>(values.size());
  for (const double value : values) spread.mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  if (values.size() > 1) spread.deviation = std::sqrt(squares / (count - 1));
  return spread;
}

std::vector<double> tokens_per_second(const BenchRow& row) {
  std::vector<double> speeds;
  for (const double s : row.seconds) speeds.push_back(static_cast<double>(row.test.tokens()) / s);
  return speeds;
}

std::string markdown_header(const BenchOptions& options) {
  std::string titles = "|";
  std::string rule = "|";
  for (const Column& column : columns_of(options)) {
    titles += cell(column, column.title);
    rule += fmt::format(" {}{} |", std::string(column.width - (column.right ? 1 : 0), '-'),
                        column.right ? ":" : "");
  }
  return titles + "\n" + rule + "\n";
}

std::string markdown_row(const BenchOptions& options, const BenchRow& row) {
  std::string line = "|";
  for (const Column& column : columns_of(options)) line += cell(column, field(row, column.title));
  return line + "\n";
}

std::string markdown_roofline(const std::vector<BenchRow>& rows) {
  std::string out;
  for (const BenchRow& row : rows) {
    if (row.peaks.read_bytes <= 0 || row.peaks.dot_ops <= 0) continue;
    if (out.empty()) {
      out =
          "\nroofline: what a token costs, and its share of what was measured in this run\n\n"
          "| model | threads | test | read MB/token | of GB/s | product MOP/token | of GOP/s |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    }
    out += fmt::format("| {} | {} | {} | {:.2f} | {:.0f} % of {:.1f} | {:.1f} | {:.0f} % of {:.0f} |\n",
                       row.model.type, row.threads, row.test.name(), row.work.bytes / 1e6,
                       100 * read_share(row), row.peaks.read_bytes / 1e9, row.work.ops / 1e6,
                       100 * dot_share(row), row.peaks.dot_ops / 1e9);
  }
  return out;
}

std::string csv_table(const std::vector<BenchRow>& rows) {
  std::string out;
  for (const BenchRow& row : rows) {
    Json values = json_row(row);
    values.erase("samples_ns");
    values.erase("samples_ts");
    std::string titles;
    std::string line;
    for (const auto& [key, value] : values.items()) {
      if (!line.empty()) {
        titles += ',';
        line += ',';
      }
      titles += key;
      line += quoted(value);
    }
    if (out.empty()) out = titles + "\n";
    out += line + "\n";
  }
  return out;
}

std::string json_table(const std::vector<BenchRow>& rows) {
  Json table = Json::array();
  for (const BenchRow& row : rows) table.push_back(json_row(row));
  return table.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace oxbow::cli
