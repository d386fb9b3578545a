#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "base/cpu.h"
#include "cli/bench_report.h"
#include "cli/bench_runner.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/loading.h"
#include "cli/report.h"

namespace oxbow::cli {
namespace {

uint64_t peak_resident_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

std::vector<size_t> thread_counts(const BenchOptions& options) {
  return options.threads.empty() ? std::vector<size_t>{static_cast<size_t>(usable_cores())} : options.threads;
}

void warn_of_too_many_threads(const BenchOptions& options, Console& console) {
  const size_t cores = static_cast<size_t>(usable_cores());
  for (const size_t threads : thread_counts(options)) {
    if (threads <= cores) continue;
    console.warn(
        fmt::format("{} threads share the {} cores that this process may use; they take turns, which is "
                    "slower than -t {}",
                    threads, cores, cores));
  }
}

// Measures row by row; what was measured before an error stays.
class BenchRun {
 public:
  BenchRun(const BenchOptions& options, Console& console) : options_(options), console_(console) {}

  Status measure() {
    if (options_.format == BenchFormat::kMarkdown) OXBOW_TRY(show(markdown_header(options_)));
    for (const std::string& path : options_.models) {
      ModelOptions common = options_.common;
      common.model = path;
      common.threads = static_cast<int>(std::ranges::max(thread_counts(options_)));
      OXBOW_TRY(measure_model(common));
    }
    for (const size_t threads : thread_counts(options_)) {
      OXBOW_ASSIGN(const Peaks peaks, measure_peaks(static_cast<int>(threads)));
      for (BenchRow& row : rows_) {
        if (row.threads == threads) row.peaks = peaks;
      }
    }
    return {};
  }

  Status finish() {
    switch (options_.format) {
      case BenchFormat::kMarkdown:
        return show(markdown_roofline(rows_));
      case BenchFormat::kCsv:
        return show(csv_table(rows_));
      default:
        return show(json_table(rows_));
    }
  }

 private:
  Status show(const std::string& text) {
    console_.erase_status();
    if (text.empty()) return {};
    if (print(console_, text) == kExitOk) return {};
    return fail(ErrorKind::kIo, "the table could not be written");
  }

  Status measure_model(const ModelOptions& common) {
    OXBOW_ASSIGN(const auto file, open_model_file(common));
    const auto start = std::chrono::steady_clock::now();
    OXBOW_ASSIGN(const auto model, load_model(file, common, Weights::kPacked, console_));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const BenchModel described = describe_model(*model, taken.count());
    size_t outputs = 1;
    for (const auto* counts : {&options_.parallel, &options_.drafts}) {
      for (const size_t n : *counts) outputs = std::max(outputs, n);
    }
    for (const size_t threads : thread_counts(options_)) {
      for (const size_t batch : options_.batches) {
        OXBOW_ASSIGN(const auto engine,
                     make_engine(model, options_.memory, static_cast<int>(threads), batch, outputs));
        OXBOW_TRY(measure_tests(*engine, described, threads, batch));
      }
    }
    return {};
  }

  Status measure_tests(engine::Engine& engine, const BenchModel& described, size_t threads, size_t batch) {
    const ModelWork work(engine.model(), engine.memory().layout());
    for (const BenchTest& test : bench_tests(options_)) {
      const auto progress = [&](size_t done) {
        console_.status(fmt::format("{}: {} of {}", test.name(), done, options_.repeat));
      };
      progress(0);
      OXBOW_ASSIGN(std::vector<double> seconds,
                   run_bench_test(engine, test, options_.repeat, options_.warm_up, progress));
      rows_.push_back({described,
                       test,
                       threads,
                       batch,
                       options_.memory.kv,
                       std::move(seconds),
                       work.of(test, batch),
                       {},
                       peak_resident_bytes()});
      if (options_.format == BenchFormat::kMarkdown) OXBOW_TRY(show(markdown_row(options_, rows_.back())));
    }
    return {};
  }

  const BenchOptions& options_;
  Console& console_;
  std::vector<BenchRow> rows_;
};

}  // namespace

int bench_command(const BenchOptions& options, Console& console) {
  const InterruptGuard guard;
  warn_of_too_many_threads(options, console);
  BenchRun run(options, console);
  const Status measured = run.measure();
  if (const Status finished = run.finish(); !finished) return report(console, finished.error());
  if (!measured) return report(console, measured.error());
  return kExitOk;
}

}  // namespace oxbow::cli
