#include "kernels/kernels.h"

#include <array>
#include <atomic>
#include <cstdlib>

#include "base/cpu.h"
#include "base/log.h"
#include "kernels/body/attend_scratch.h"
#include "kernels/isa/tables.h"

namespace oxbow::kernels {
namespace {

struct Available {
  std::array<const KernelTable*, 3> tables{};
  size_t count = 0;

  void add(const KernelTable& table) { tables[count++] = &table; }
};

Available detect() {
  Available available;
  available.add(portable::kTable);
#if defined(OXBOW_HAS_AVX2)
  if (cpu_features().avx2) available.add(avx2::kTable);
#endif
#if defined(OXBOW_HAS_AVX512)
  if (cpu_features().avx512_vnni) available.add(avx512::kTable);
#endif
  return available;
}

const KernelTable* find(std::string_view name) {
  for (const KernelTable* table : available_kernels()) {
    if (table->name == name) return table;
  }
  return nullptr;
}

const KernelTable* choose() {
  const KernelTable* best = available_kernels().back();
  const char* wanted = std::getenv("OXBOW_ISA");
  if (wanted == nullptr || *wanted == '\0') return best;
  if (const KernelTable* table = find(wanted)) return table;
  log(LogLevel::kWarning, "kernels", "OXBOW_ISA={} is unknown or cannot run here; using {}", wanted,
      best->name);
  return best;
}

// Null until the first use.
std::atomic<const KernelTable*> chosen{nullptr};

}  // namespace

size_t attend_scratch_floats(size_t head_dim_k, size_t head_dim_v, size_t query_heads) {
  return portable::attend_scratch(head_dim_k, head_dim_v, kAttendTokens * query_heads).floats;
}

std::span<const KernelTable* const> available_kernels() {
  static const Available available = detect();
  return {available.tables.data(), available.count};
}

const KernelTable& kernels() {
  const KernelTable* table = chosen.load(std::memory_order_acquire);
  if (table != nullptr) return *table;
  static const KernelTable* const first = choose();
  // A table that use_kernels set meanwhile stays.
  if (chosen.compare_exchange_strong(table, first, std::memory_order_acq_rel)) return *first;
  return *table;
}

bool use_kernels(std::string_view name) {
  const KernelTable* table = find(name);
  if (table == nullptr) return false;
  chosen.store(table, std::memory_order_release);
  return true;
}

}  // namespace oxbow::kernels
