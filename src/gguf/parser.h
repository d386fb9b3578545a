#pragma once
// From bytes to a File: the header of one part, and the joining of parts.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"
#include "gguf/cursor.h"
#include "gguf/file.h"

namespace oxbow::gguf {

class Parser {
 public:
  // One part, split or not; the caller keeps the bytes.
  static Result<File> parse(std::span<const std::byte> bytes, const std::string& name);

  // One part, which keeps its mapping.
  static Result<File> open(const std::string& path);

  // Parts in order, each parsed by open(). Takes the metadata of the first and the tensors of all.
  static Result<File> join(std::vector<File> parts);

 private:
  // Where the tensor list says that a tensor's data is, before it was checked.
  struct Extent {
    uint64_t offset;  // from the start of the data section
    uint64_t size_bytes;
  };
  struct Header {
    uint64_t tensor_count;
    uint64_t metadata_count;
  };

  Parser(std::span<const std::byte> bytes, const std::string& name);

  Result<Header> read_header();
  Status check_magic();
  Status check_version(uint32_t version) const;
  Status read_metadata(uint64_t count);
  Status read_tensors(uint64_t count);
  Result<Extent> read_tensor(Tensor& tensor);
  Status read_shape(Tensor& tensor);
  Status read_type(Tensor& tensor);
  Result<uint64_t> alignment() const;
  Status place_tensors();
  Status check_overlap() const;

  static Status index_tensors(File& file);

  std::span<const std::byte> bytes_;
  Cursor cursor_;
  File file_;
  std::vector<Extent> extents_;  // of file_.tensors_, same order
};

}  // namespace oxbow::gguf
