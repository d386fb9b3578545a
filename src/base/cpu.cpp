#include "base/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

namespace oxbow {
namespace {

#if defined(__x86_64__)
// clang 14 knows no such name for __builtin_cpu_supports.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

CpuFeatures detect() {
  CpuFeatures features;
#if defined(__x86_64__)
  __builtin_cpu_init();
  features.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  features.avx512_vnni = features.avx2 && __builtin_cpu_supports("avx512f") &&
                         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni");
#endif
  return features;
}

// Whole cores of a cgroup v2 quota ("MAX PERIOD" in microseconds), or 0 when there is none.
int cgroup_quota_cores() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::max(1, static_cast<int>(std::strtod(quota.c_str(), nullptr) / period + 0.5));
}

// The number in a file that holds one, or 0.
uint64_t read_number(const char* path) {
  std::ifstream file(path);
  uint64_t value = 0;
  return file >> value ? value : 0;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

int usable_cores() {
  int cores = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) cores = CPU_COUNT(&set);
  const int quota = cgroup_quota_cores();
  if (quota > 0) cores = std::min(cores, quota);
  return std::max(1, cores);
}

uint64_t available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  uint64_t available = 0;
  for (uint64_t kib = 0; file >> name >> kib; file.ignore(64, '\n')) {
    if (name == "MemAvailable:") available = kib << 10;
  }
  const uint64_t limit = read_number("/sys/fs/cgroup/memory.max");  // "max" reads as 0: no limit
  const uint64_t used = read_number("/sys/fs/cgroup/memory.current");
  if (limit > 0) available = std::min(available, limit > used ? limit - used : 0);
  return available;
}

}  // namespace oxbow
