#pragma once
// Runs the tests of `oxbow bench` on an engine and takes the time.

#include <functional>
#include <vector>

#include "base/status.h"
#include "cli/bench_plan.h"
#include "engine/engine.h"

namespace oxbow::cli {

// Seconds of each repetition. Depth and, unless warm_up is false, one repetition more come before the clock.
// Errors are those of Engine::step, with advice; kInvalidState when an interrupt is pending. done: called
// after each repetition.
Result<std::vector<double>> run_bench_test(engine::Engine& engine, const BenchTest& test, size_t repeat,
                                           bool warm_up, const std::function<void(size_t done)>& done);

}  // namespace oxbow::cli
