#include "cli/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "cli/statistics.h"
#include "kernels/kv_type.h"

namespace oxbow::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kBarWidth = 36;

// Mixers stand before the feed-forward.
std::string mixer_letters(std::string letters) {
  while (!letters.empty() && (letters.back() == 'F' || letters.back() == 'E')) letters.pop_back();
  return letters.empty() ? "-" : letters;
}

std::vector<Footprint::Kind> kinds_of(const model::Model& model, const memory::KvTypes& types) {
  std::vector<Footprint::Kind> layers(model.layer_count());
  for (size_t i = 0; i < layers.size(); ++i) layers[i].letters = mixer_letters(model.layer_letters(i));
  for (const memory::StateSpec& spec : model.state_specs()) {
    Footprint::Kind& layer = layers.at(spec.layer);
    if (const auto* kv = spec.kv()) {
      layer.kv_token_bytes += kv->kv_heads * (kv->head_dim_k * kernels::kv_type_bytes(types.key) +
                                              kv->head_dim_v * kernels::kv_type_bytes(types.value));
      layer.window_tokens = kv->window_tokens;
    }
    if (const auto* recurrent = spec.recurrent()) {
      layer.state_bytes += recurrent->state_floats * sizeof(float);
      layer.row_bytes += recurrent->row_floats * sizeof(float);
    }
  }
  std::vector<Footprint::Kind> kinds;
  for (Footprint::Kind& layer : layers) {
    const auto same = std::ranges::find_if(kinds, [&](const Footprint::Kind& kind) {
      return kind.letters == layer.letters && kind.kv_token_bytes == layer.kv_token_bytes &&
             kind.window_tokens == layer.window_tokens && kind.state_bytes == layer.state_bytes &&
             kind.row_bytes == layer.row_bytes;
    });
    if (same != kinds.end()) {
      ++same->layers;
    } else {
      layer.layers = 1;
      kinds.push_back(std::move(layer));
    }
  }
  return kinds;
}

std::string bar(size_t pages, size_t recurrent, size_t most) {
  const auto cells = [&](size_t bytes) {
    return most == 0 ? 0
                     : static_cast<size_t>(
                           static_cast<double>(bytes) / static_cast<double>(most) * kBarWidth + 0.5);
  };
  std::string text;
  for (size_t i = 0; i < cells(pages); ++i) text += "█";
  for (size_t i = 0; i < cells(recurrent); ++i) text += "░";
  return text;
}

std::string bytes_or_dash(size_t bytes) {
  return bytes > 0 ? format_bytes(bytes) : "-";
}

}  // namespace

size_t Footprint::page_bytes(size_t tokens) const {
  size_t bytes = 0;
  for (const memory::KvGroup& group : layout.groups()) {
    // What the window shows from every position that can be rewound to.
    const size_t kept =
        group.window_tokens == 0 ? tokens : std::min(tokens, group.window_tokens + reach_rows + 64);
    bytes += ceil_div(kept, memory::kPagePositions) * group.page_bytes;
  }
  return bytes;
}

size_t Footprint::recurrent_bytes(size_t tokens) const {
  const size_t rows = std::min(tokens, reach_rows);
  return 2 * layout.state_bytes() + ceil_div(rows, memory::kRowPageTokens) * layout.row_page_bytes();
}

Footprint footprint_of(const model::Model& model, const memory::Memory& memory, size_t context) {
  Footprint footprint{.kinds = kinds_of(model, memory.layout().types()),
                      .checkpoint_bytes = memory.layout().state_bytes(),
                      .budget_bytes = memory.pool().budget_bytes(),
                      .context = context,
                      .layout = memory.layout(),
                      .reach_rows = memory.reach_rows()};
  const auto bytes = [&](size_t tokens) {
    return footprint.page_bytes(tokens) + footprint.recurrent_bytes(tokens);
  };
  // Pages never shrink as tokens come: the largest length that fits, found by halves.
  constexpr size_t kMost = size_t{1} << 40;
  size_t fits = 0;
  for (size_t step = kMost; step > 0; step /= 2) {
    if (bytes(fits + step) <= footprint.budget_bytes) fits += step;
  }
  footprint.budget_tokens = fits >= kMost ? 0 : fits;
  if (footprint.checkpoint_bytes > 0 && bytes(context) < footprint.budget_bytes)
    footprint.budget_checkpoints = (footprint.budget_bytes - bytes(context)) / footprint.checkpoint_bytes;
  return footprint;
}

std::string draw(const Footprint& f) {
  std::string text = fmt::format("{:<8}{:>7}  {:>20}{:>14}{:>14}\n", "mixers", "layers",
                                 "keys, values / token", "state", "log row");
  for (const Footprint::Kind& kind : f.kinds) {
    text += fmt::format("{:<8}{:>7}  {:>20}{:>14}{:>14}{}\n", kind.letters, kind.layers,
                        bytes_or_dash(kind.kv_token_bytes), bytes_or_dash(kind.state_bytes),
                        bytes_or_dash(kind.row_bytes),
                        kind.window_tokens > 0 ? fmt::format("   last {} tokens", kind.window_tokens) : "");
  }
  text += fmt::format("{:<8}{:>7}  {:>20}{:>14}{:>14}\n\n", "all", "",
                      bytes_or_dash(f.layout.kv_bytes_per_token()), bytes_or_dash(f.layout.state_bytes()),
                      bytes_or_dash(f.layout.row_bytes()));
  text += fmt::format("{:>10}  {:>14}{:>16}\n", "tokens", "keys, values", "states and log");
  std::vector<size_t> lengths;
  for (size_t tokens = 1024; tokens < f.context; tokens *= 4) lengths.push_back(tokens);
  lengths.push_back(f.context);
  const size_t most = f.page_bytes(f.context) + f.recurrent_bytes(f.context);
  for (const size_t tokens : lengths) {
    const size_t pages = f.page_bytes(tokens);
    const size_t recurrent = f.recurrent_bytes(tokens);
    text += fmt::format("{:>10}  {:>14}{:>16}  {}\n", format_count(tokens), bytes_or_dash(pages),
                        bytes_or_dash(recurrent), bar(pages, recurrent, most));
  }
  text +=
      fmt::format("\n{:<16}{}\n", "a checkpoint",
                  f.checkpoint_bytes > 0
                      ? fmt::format("{} (a state; less near another one), its pages shared with the sequence",
                                    format_bytes(f.checkpoint_bytes))
                      : "nothing of its own: pages shared with the sequence");
  if (f.layout.has_recurrent()) {
    text += fmt::format("{:<16}{} log rows at most; the last {} tokens can be taken back at no cost\n",
                        "reach", format_count(f.reach_rows), format_count(f.reach_rows / 2));
  }
  text += fmt::format("{:<16}{} ({})\n", "the budget", format_bytes(f.budget_bytes), "--cache-ram");
  text += f.budget_tokens > 0
              ? fmt::format("{:<16}one sequence of {} tokens, less what the working buffers take\n", "  buys",
                            format_count(f.budget_tokens))
              : fmt::format("{:<16}sequences of any length: nothing grows with the tokens\n", "  buys");
  if (f.budget_checkpoints > 0) {
    text += fmt::format("{:<16}or one of {} tokens and {} checkpoints\n", "", format_count(f.context),
                        format_count(f.budget_checkpoints));
  } else if (f.checkpoint_bytes > 0) {
    text += fmt::format("{:<16}and no checkpoint beside one of {} tokens\n", "", format_count(f.context));
  }
  return text;
}

Json to_json(const Footprint& f) {
  Json json;
  for (const Footprint::Kind& kind : f.kinds) {
    json["kinds"].push_back({{"mixers", kind.letters},
                             {"layers", kind.layers},
                             {"kv_token_bytes", kind.kv_token_bytes},
                             {"window_tokens", kind.window_tokens},
                             {"state_bytes", kind.state_bytes},
                             {"row_bytes", kind.row_bytes}});
  }
  json["checkpoint_bytes"] = f.checkpoint_bytes;
  json["budget_bytes"] = f.budget_bytes;
  json["budget_tokens"] = f.budget_tokens > 0 ? Json(f.budget_tokens) : Json();
  json["budget_checkpoints"] = f.budget_checkpoints;
  return json;
}

}  // namespace oxbow::cli
