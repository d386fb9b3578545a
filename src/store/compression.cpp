#include "store/compression.h"

#include <zstd.h>

#include "base/check.h"

namespace oxbow::stores {
namespace {

ZSTD_CCtx* context_of(void* context) {
  return static_cast<ZSTD_CCtx*>(context);
}

}  // namespace

void Compressor::Free::operator()(void* context) const {
  ZSTD_freeCCtx(context_of(context));
}

Compressor::Compressor(int level)
    : context_(ZSTD_createCCtx()), buffer_(std::make_unique<std::byte[]>(ZSTD_CStreamOutSize())) {
  if (context_) ZSTD_CCtx_setParameter(context_of(context_.get()), ZSTD_c_compressionLevel, level);
}

Status Compressor::run(std::span<const std::byte> bytes, bool last, const ByteSink& sink) {
  if (!context_) return fail(ErrorKind::kOutOfBudget, "no memory for the compressor");
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (;;) {
    ZSTD_outBuffer out{buffer_.get(), ZSTD_CStreamOutSize(), 0};
    const size_t left =
        ZSTD_compressStream2(context_of(context_.get()), &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left)) return fail(ErrorKind::kOutOfBudget, "compression: {}", ZSTD_getErrorName(left));
    if (out.pos > 0) OXBOW_TRY(sink({buffer_.get(), out.pos}));
    if (last ? left == 0 : in.pos == in.size) return {};
  }
}

Status Compressor::append(std::span<const std::byte> bytes, const ByteSink& sink) {
  return run(bytes, false, sink);
}

Status Compressor::finish(const ByteSink& sink) {
  return run({}, true, sink);
}

Status decompress(std::span<const std::byte> stored, std::span<std::byte> raw) {
  const size_t size = ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(size)) {
    return fail(ErrorKind::kInvalidInput, "does not decompress to {} bytes: {}", raw.size(),
                ZSTD_getErrorName(size));
  }
  if (size != raw.size()) {
    return fail(ErrorKind::kInvalidInput, "decompresses to {} bytes, not the {} it states", size, raw.size());
  }
  return {};
}

}  // namespace oxbow::stores
