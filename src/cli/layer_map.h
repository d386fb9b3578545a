#pragma once
// The layers of a model as letters.

#include <string>
#include <string_view>
#include <vector>

namespace oxbow::cli {

// "attention" for A and so on; the letter itself when it is not known.
std::string letter_name(char letter);

struct LayerMap {
  std::string common;             // the feed-forward's letter when every layer has the same, else empty
  std::vector<std::string> rows;  // one letter a layer in tens, or words where a layer has several letters
  std::string summary;            // "40: 36 Mamba (M), 4 attention (A), each with a dense feed-forward (F)"
};

// letters: of each layer, its mixers and then its feed-forward.
LayerMap make_layer_map(const std::vector<std::string>& letters);

}  // namespace oxbow::cli
