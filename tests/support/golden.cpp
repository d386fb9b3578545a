#include "support/golden.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "support/shared.h"

namespace oxbow::testing {

using Json = nlohmann::json;

struct Golden::Contents {
  Json json;
  std::string npz;

  const Json* find(std::string_view key) const {
    const Json* node = &json;
    while (true) {
      const size_t slash = key.find('/');
      const auto child = node->find(std::string(key.substr(0, slash)));
      if (child == node->end()) return nullptr;
      node = &*child;
      if (slash == std::string_view::npos) return node;
      key.remove_prefix(slash + 1);
    }
  }
};

namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

template <typename T>
T entry(const Json* node, const std::string& name, std::string_view key) {
  if (node == nullptr) throw std::runtime_error(name + ".json has no " + std::string(key));
  return node->get<T>();
}

struct Extent {
  size_t offset;
  size_t count;
  std::string dtype;
};

Extent extent(const Json* node, const std::string& name, std::string_view array) {
  if (node == nullptr) throw std::runtime_error(name + ".json lists no array " + std::string(array));
  size_t count = 1;
  for (const auto& dimension : node->at("shape")) count *= dimension.get<size_t>();
  return {node->at("byte_offset_in_npz").get<size_t>(), count, node->at("dtype").get<std::string>()};
}

// dtype is "float32", "float32 little endian" or "uint8".
template <typename T>
std::vector<T> elements(const std::string& npz, const Extent& place, std::string_view dtype,
                        const std::string& what) {
  if (!std::string_view(place.dtype).starts_with(dtype))
    throw std::runtime_error(what + " holds " + place.dtype);
  if (place.offset > npz.size() || (npz.size() - place.offset) / sizeof(T) < place.count) {
    throw std::runtime_error(what + " lies outside of the npz file");
  }
  std::vector<T> values(place.count);
  std::memcpy(values.data(), npz.data() + place.offset, place.count * sizeof(T));
  return values;
}

}  // namespace

std::string golden_path(std::string_view file) {
  return shared_directory() + "/golden/" + std::string(file);
}

std::vector<std::string> golden_models() {
  std::vector<std::string> names;
  for (const auto& item : std::filesystem::directory_iterator(golden_path(""))) {
    if (item.path().extension() != ".gguf") continue;
    auto name = item.path().stem().string();
    if (std::filesystem::exists(golden_path(name + ".json"))) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Golden::Golden(const std::string& name) : name_(name) {
  auto contents = std::make_shared<Contents>();
  const std::string base = name.find('/') == std::string::npos ? golden_path(name) : name;
  contents->json = Json::parse(read_file(base + ".json"));
  if (std::filesystem::exists(base + ".npz")) contents->npz = read_file(base + ".npz");
  contents_ = std::move(contents);
}

bool Golden::has(std::string_view key) const {
  return contents_->find(key) != nullptr;
}

double Golden::number(std::string_view key) const {
  return entry<double>(contents_->find(key), name_, key);
}

std::string Golden::string(std::string_view key) const {
  return entry<std::string>(contents_->find(key), name_, key);
}

std::vector<double> Golden::numbers(std::string_view key) const {
  return entry<std::vector<double>>(contents_->find(key), name_, key);
}

std::vector<int32_t> Golden::integers(std::string_view key) const {
  return entry<std::vector<int32_t>>(contents_->find(key), name_, key);
}

std::vector<std::string> Golden::keys_of(std::string_view key) const {
  std::vector<std::string> keys;
  for (const auto& [name, value] : entry<Json>(contents_->find(key), name_, key).items())
    keys.push_back(name);
  return keys;
}

bool Golden::has_array(std::string_view array) const {
  return has("arrays/" + std::string(array));
}

std::vector<size_t> Golden::shape(std::string_view array) const {
  return entry<std::vector<size_t>>(contents_->find("arrays/" + std::string(array) + "/shape"), name_, array);
}

std::vector<float> Golden::floats(std::string_view array) const {
  const Extent place = extent(contents_->find("arrays/" + std::string(array)), name_, array);
  return elements<float>(contents_->npz, place, "float32", std::string(array));
}

std::vector<std::byte> Golden::bytes(std::string_view array) const {
  const Extent place = extent(contents_->find("arrays/" + std::string(array)), name_, array);
  return elements<std::byte>(contents_->npz, place, "uint8", std::string(array));
}

}  // namespace oxbow::testing
