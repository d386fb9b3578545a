#include "kernel_fixture.h"
#include "quant/half.h"

namespace oxbow::kernels {
namespace {

struct Shape {
  size_t head_dim_k = 64;
  size_t head_dim_v = 64;
  size_t query_heads = 4;
  size_t window = 0;
  KvType k_type = KvType::kF16;
  KvType v_type = KvType::kF16;
};

// A cache of `positions` keys and values whose unwritten slots are NaN, and one query per position and head.
class Cache {
 public:
  Cache(const Shape& shape, size_t positions, uint32_t seed) : shape_(shape), positions_(positions) {
    k_bytes_ = shape.head_dim_k * kKeyBlock * (shape.k_type == KvType::kF32 ? 4 : 2);
    const size_t v_bytes = shape.head_dim_v * kKeyBlock * (shape.v_type == KvType::kF32 ? 4 : 2);
    k_ = random_floats(positions * shape.head_dim_k, seed);
    v_ = random_floats(positions * shape.head_dim_v, seed + 1);
    q_ = random_floats(positions * q_stride(), seed + 2, -1.5f, 1.5f);
    for (size_t block = 0; block * kKeyBlock < positions; ++block) {
      pages_.emplace_back(kHeader + k_bytes_ + v_bytes, std::byte{0xff});
    }
    for (size_t i = 0; i < positions; ++i) write(kernels(), i);
    for (const auto& page : pages_) page_pointers_.push_back(page.data());
  }

  size_t q_stride() const { return shape_.query_heads * shape_.head_dim_k + 3; }
  size_t out_stride() const { return shape_.query_heads * shape_.head_dim_v + 5; }
  size_t positions() const { return positions_; }

  // Makes a key's value infinite, as an overflow of binary16 would.
  void spoil_value(size_t position) {
    for (size_t d = 0; d < shape_.head_dim_v; ++d) v_[position * shape_.head_dim_v + d] = kInf;
    write(kernels(), position);
  }

  // Outputs of tokens [first, first + count), without the stride.
  std::vector<float> attend(const KernelTable& table, size_t first, size_t count) const {
    return attend_with(table, first, count, page_pointers_);
  }

  // The same when the first `missing` pages do not exist.
  std::vector<float> attend_without_pages(const KernelTable& table, size_t first, size_t count,
                                          size_t missing) const {
    std::vector<const std::byte*> pages = page_pointers_;
    std::fill_n(pages.begin(), missing, nullptr);
    return attend_with(table, first, count, pages);
  }

  std::vector<double> reference(size_t position) const {
    std::vector<double> rows;
    const size_t begin =
        shape_.window != 0 && position + 1 > shape_.window ? position + 1 - shape_.window : 0;
    for (size_t h = 0; h < shape_.query_heads; ++h) {
      std::vector<double> scores, out(shape_.head_dim_v, 0.0);
      double largest = -1e300, total = 0;
      for (size_t j = begin; j <= position; ++j) {
        double dot = 0;
        for (size_t d = 0; d < shape_.head_dim_k; ++d) {
          dot += double{q_[position * q_stride() + h * shape_.head_dim_k + d]} *
                 stored(k_[j * shape_.head_dim_k + d], shape_.k_type);
        }
        scores.push_back(dot * kScale);
        largest = std::max(largest, scores.back());
      }
      for (double& s : scores) total += s = std::exp(s - largest);
      for (size_t j = begin; j <= position; ++j) {
        for (size_t d = 0; d < shape_.head_dim_v; ++d) {
          out[d] += scores[j - begin] / total * stored(v_[j * shape_.head_dim_v + d], shape_.v_type);
        }
      }
      rows.insert(rows.end(), out.begin(), out.end());
    }
    return rows;
  }

 private:
  static constexpr size_t kHeader = 12;
  static constexpr float kScale = 0.3f;

  static double stored(float value, KvType type) {
    return type == KvType::kF32 ? value : quant::half_to_float(quant::float_to_half(value));
  }
  std::vector<float> attend_with(const KernelTable& table, size_t first, size_t count,
                                 const std::vector<const std::byte*>& pages) const {
    Guarded<float> out(count * out_stride());
    Guarded<float> scratch(attend_scratch_floats(shape_.head_dim_k, shape_.head_dim_v, shape_.query_heads));
    for (size_t i = 0; i < count * out_stride(); ++i) out[i] = -77.0f;
    AttendArgs args;
    args.head_dim_k = shape_.head_dim_k;
    args.head_dim_v = shape_.head_dim_v;
    args.query_heads = shape_.query_heads;
    args.scale = kScale;
    args.k_type = shape_.k_type;
    args.v_type = shape_.v_type;
    args.window = shape_.window;
    args.pages = pages.data();
    args.k_offset = kHeader;
    args.v_offset = kHeader + k_bytes_;
    args.tokens = count;
    args.first_position = first;
    args.q = q_.data() + first * q_stride();
    args.q_stride = q_stride();
    args.out = out.data();
    args.out_stride = out_stride();
    args.scratch = scratch.data();
    table.attend(args);
    std::vector<float> rows;
    for (size_t t = 0; t < count; ++t) {
      const size_t width = shape_.query_heads * shape_.head_dim_v;
      for (size_t i = 0; i < width; ++i) rows.push_back(out[t * out_stride() + i]);
      for (size_t i = width; i < out_stride(); ++i) EXPECT_EQ(out[t * out_stride() + i], -77.0f);
    }
    return rows;
  }

  void write(const KernelTable& table, size_t position) {
    std::byte* page = pages_[position / kKeyBlock].data();
    table.store_key(k_.data() + position * shape_.head_dim_k, shape_.head_dim_k, position % kKeyBlock,
                    shape_.k_type, page + kHeader);
    table.store_value(v_.data() + position * shape_.head_dim_v, shape_.head_dim_v, position % kKeyBlock,
                      shape_.v_type, page + kHeader + k_bytes_);
  }

  Shape shape_;
  size_t positions_;
  size_t k_bytes_ = 0;
  std::vector<float> k_, v_, q_;
  std::vector<std::vector<std::byte>> pages_;
  std::vector<const std::byte*> page_pointers_;
};

std::vector<Shape> shapes() {
  return {
      {64, 64, 4, 0, KvType::kF16, KvType::kF16},    {128, 128, 1, 0, KvType::kF16, KvType::kF16},
      {128, 128, 7, 0, KvType::kF32, KvType::kF32},  {80, 80, 3, 0, KvType::kF16, KvType::kF32},
      {33, 21, 2, 0, KvType::kF32, KvType::kF16},    {33, 21, 5, 70, KvType::kF16, KvType::kF16},
      {64, 128, 12, 0, KvType::kF16, KvType::kF16},  {64, 64, 4, 1, KvType::kF16, KvType::kF16},
      {64, 64, 1, 10, KvType::kF16, KvType::kF16},   {16, 16, 6, 64, KvType::kF32, KvType::kF32},
      {1, 1, 1, 0, KvType::kF32, KvType::kF32},      {96, 48, 8, 100, KvType::kF16, KvType::kF16},
      {64, 200, 2, 130, KvType::kF16, KvType::kF16},
  };
}

TEST(Attend, MatchesTheReferenceForEveryShapeAndPosition) {
  for (const Shape& shape : shapes()) {
    const Cache cache(shape, 210, 1);
    for (size_t position : {0, 1, 15, 62, 63, 64, 65, 127, 128, 200, 209}) {
      const auto actual =
          run_everywhere([&](const KernelTable& table) { return cache.attend(table, position, 1); });
      const std::vector<double> expected = cache.reference(position);
      for (size_t i = 0; i < actual.size(); ++i) {
        ASSERT_NEAR(actual[i], expected[i], 4e-6)
            << shape.head_dim_k << "x" << shape.head_dim_v << " at " << position;
      }
    }
  }
}

TEST(Attend, GivesATokenTheSameBitsAloneAndInAnyTile) {
  for (const Shape& shape : shapes()) {
    const Cache cache(shape, 140, 2);
    run_everywhere([&](const KernelTable& table) {
      std::vector<float> alone;
      for (size_t t = 0; t < cache.positions(); ++t) {
        const std::vector<float> row = cache.attend(table, t, 1);
        alone.insert(alone.end(), row.begin(), row.end());
      }
      std::mt19937 random(3);
      for (int trial = 0; trial < 2; ++trial) {
        std::vector<float> tiled;
        for (size_t first = 0; first < cache.positions();) {
          const size_t wish = trial == 0 ? kAttendTokens : 1 + random() % kAttendTokens;
          const size_t count = std::min(wish, cache.positions() - first);
          const std::vector<float> rows = cache.attend(table, first, count);
          tiled.insert(tiled.end(), rows.begin(), rows.end());
          first += count;
        }
        EXPECT_TRUE(same_bits(alone, tiled)) << table.name << ", heads of " << shape.head_dim_k;
      }
      return alone;
    });
  }
}

TEST(Attend, NeverLetsAnUnseenKeyReachATokenEvenWhenItIsInfinite) {
  for (size_t window : {0, 20}) {
    for (KvType type : {KvType::kF16, KvType::kF32}) {
      const Shape shape{64, 64, 2, window, type, type};
      const Cache clean(shape, 120, 4);
      Cache spoilt(shape, 120, 4);
      spoilt.spoil_value(100);
      for (const KernelTable* table : available_kernels()) {
        const std::vector<float> expected = clean.attend(*table, 96, 16),
                                 actual = spoilt.attend(*table, 96, 16);
        const size_t row = shape.query_heads * shape.head_dim_v;
        for (size_t i = 0; i < expected.size(); ++i) {
          if (i / row < 4) {
            ASSERT_TRUE(same_bits(expected[i], actual[i])) << i;
          } else {
            ASSERT_FALSE(std::isfinite(actual[i])) << i;
          }
        }
        if (window != 0) {
          const std::vector<float> later = spoilt.attend(*table, 110, 10);
          for (size_t i = 10 * row; i < later.size(); ++i) ASSERT_TRUE(std::isfinite(later[i]));
          for (size_t t = 110; t < 120; ++t) {
            ASSERT_EQ(std::isfinite(later[(t - 110) * row]), t - 100 >= window) << t;
          }
        }
      }
    }
  }
}

TEST(Attend, SkipsPagesThatLieOutsideOfTheWindow) {
  const Shape shape{64, 64, 3, 50, KvType::kF16, KvType::kF16};
  const Cache cache(shape, 300, 5);
  for (const KernelTable* table : available_kernels()) {
    // Only the pages that positions 280 to 295 can see exist; the others would fault.
    const std::vector<float> expected = cache.attend(*table, 280, 16);
    ASSERT_TRUE(same_bits(expected, cache.attend_without_pages(*table, 280, 16, 3)));
  }
}

TEST(Attend, OfOneKeyIsItsValue) {
  const Shape shape{64, 40, 4, 0, KvType::kF32, KvType::kF32};
  const Cache cache(shape, 1, 6);
  const auto out = run_everywhere([&](const KernelTable& table) { return cache.attend(table, 0, 1); });
  const std::vector<double> expected = cache.reference(0);
  for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], expected[i]);
}

TEST(KvStore, RoundsToTheStoredTypeAndTouchesOnlyItsSlot) {
  for (size_t head_dim : {1, 16, 33, 128}) {
    for (size_t slot : {0, 1, 63}) {
      std::vector<float> values = wild_floats(head_dim, 7);
      values[0] = 65520.0f;  // the smallest that rounds to infinity
      for (const KernelTable* table : available_kernels()) {
        Guarded<uint16_t> k(head_dim * kKeyBlock), v(head_dim * kKeyBlock);
        Guarded<float> wide_k(head_dim * kKeyBlock), wide_v(head_dim * kKeyBlock);
        const auto before = k.values();
        table->store_key(values.data(), head_dim, slot, KvType::kF16, reinterpret_cast<std::byte*>(k.data()));
        table->store_value(values.data(), head_dim, slot, KvType::kF16,
                           reinterpret_cast<std::byte*>(v.data()));
        table->store_key(values.data(), head_dim, slot, KvType::kF32,
                         reinterpret_cast<std::byte*>(wide_k.data()));
        table->store_value(values.data(), head_dim, slot, KvType::kF32,
                           reinterpret_cast<std::byte*>(wide_v.data()));
        for (size_t d = 0; d < head_dim; ++d) {
          for (size_t j = 0; j < kKeyBlock; ++j) {
            const uint16_t expected = j == slot ? quant::float_to_half(values[d]) : before[0];
            ASSERT_EQ(k[d * kKeyBlock + j], expected) << table->name << " " << values[d];
            ASSERT_EQ(v[j * head_dim + d], expected) << table->name << " " << values[d];
          }
          ASSERT_TRUE(same_bits(wide_k[d * kKeyBlock + slot], values[d]));
          ASSERT_TRUE(same_bits(wide_v[slot * head_dim + d], values[d]));
        }
      }
    }
  }
}

}  // namespace
}  // namespace oxbow::kernels
