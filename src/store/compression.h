#pragma once
// The one wrapper of zstd.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/status.h"

namespace oxbow::stores {

// Where a stream of bytes goes; an error ends the stream.
using ByteSink = std::function<Status(std::span<const std::byte>)>;

// Compresses a stream into one zstd frame, a bounded buffer at a time. One thread at a time.
class Compressor {
 public:
  // level: zstd's own, 1 (fast) to 19.
  explicit Compressor(int level = 1);
  Compressor(Compressor&&) noexcept = default;
  Compressor& operator=(Compressor&&) noexcept = default;

  Status append(std::span<const std::byte> bytes, const ByteSink& sink);
  // Ends the frame.
  Status finish(const ByteSink& sink);

 private:
  Status run(std::span<const std::byte> bytes, bool last, const ByteSink& sink);

  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
  std::unique_ptr<std::byte[]> buffer_;
};

// Fills raw with what the frames in `stored` hold. An error when that is not exactly raw.size() bytes or the
// data is damaged; raw is then undefined. Takes no memory in proportion to anything that the data claims.
Status decompress(std::span<const std::byte> stored, std::span<std::byte> raw);

}  // namespace oxbow::stores
