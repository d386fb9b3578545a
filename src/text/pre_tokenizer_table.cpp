// The published pre-tokenizer patterns and the names that use them. Written for PCRE2: where a publisher's
// pattern uses syntax that PCRE2 lacks (class intersection, `(?i:...)` limited to ASCII), an equal class is
// spelled out.

#include <algorithm>
#include <array>

#include "text/pre_tokenizer.h"

namespace oxbow::text {

namespace {

using Pattern = std::string_view;

#define OXBOW_CONTRACTIONS R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]))"
#define OXBOW_SPACES R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"

constexpr Pattern kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::array kGpt2{kGpt2Pattern};

// Every digit alone (StarCoder and its relatives).
constexpr std::array kSingleDigitsGpt2{Pattern(R"(\p{N})"), kGpt2Pattern};

constexpr std::array kLlama3{Pattern(
    OXBOW_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)" OXBOW_SPACES)};

constexpr std::array kQwen2{
    Pattern(OXBOW_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)" OXBOW_SPACES)};

// Qwen2 with combining marks kept beside their letters.
constexpr std::array kQwen35{
    Pattern(OXBOW_CONTRACTIONS
            R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)" OXBOW_SPACES)};

constexpr std::array kSeedCoder{
    Pattern(OXBOW_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+)" OXBOW_SPACES)};

constexpr std::array kBailing{
    Pattern(R"('(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
            R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)")};

constexpr std::array kMiniCpm5{
    Pattern(R"(\p{N}{1,3})"),
    Pattern(OXBOW_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*)" OXBOW_SPACES)};

// o200k and its relatives: words end where lower case turns into upper case. The publishers' classes also
// take combining marks as letters and know the case of all scripts; llama.cpp does neither, and its ids are
// the ones that GGUF files are compared with (docs/formats/tokenizers.md).
#define OXBOW_UPPER R"([^\P{L}a-z])"
#define OXBOW_LOWER R"([^\P{L}A-Z])"
constexpr std::array kGpt4o{Pattern(R"([^\r\n\p{L}\p{N}]?)" OXBOW_UPPER "*" OXBOW_LOWER "+" OXBOW_CONTRACTIONS
                                    R"(?|[^\r\n\p{L}\p{N}]?)" OXBOW_UPPER "+" OXBOW_LOWER
                                    "*" OXBOW_CONTRACTIONS
                                    R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" OXBOW_SPACES)};

constexpr std::array kTekken{Pattern(R"([^\r\n\p{L}\p{N}]?)" OXBOW_UPPER "*" OXBOW_LOWER
                                     R"(+|[^\r\n\p{L}\p{N}]?)" OXBOW_UPPER "+" OXBOW_LOWER
                                     R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" OXBOW_SPACES)};

// Han characters stand apart; as above, marks are no letters, and here case does not matter.
#define OXBOW_HAN \
  R"(\x{3400}-\x{4DBF}\x{4E00}-\x{9FFF}\x{F900}-\x{FAFF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2EBEF}\x{2F800}-\x{2FA1F})"
constexpr std::array kKimiK2{Pattern(R"([)" OXBOW_HAN R"(]+|[^\r\n\p{L}\p{N}]?[^\P{L})" OXBOW_HAN
                                     R"(]+)" OXBOW_CONTRACTIONS
                                     R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)" OXBOW_SPACES)};

// U+0800 to U+9FA5 (kana and Han among them) and the Hangul block, without the spaces there; as a complement.
constexpr Pattern kDeepSeekEastAsian = R"([^\s\x{0}-\x{7FF}\x{9FA6}-\x{ABFF}\x{E000}-\x{10FFFF}]+)";

// Letters with case, of the scripts that the publisher lists.
#define OXBOW_DEEPSEEK_LETTERS                                                                      \
  R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"           \
  R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}-\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A})"    \
  R"(\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556})"           \
  R"(\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF})"        \
  R"(\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D})"        \
  R"(\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D})" \
  R"(\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC})"                 \
  R"(\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC})"        \
  R"(\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128})"           \
  R"(\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E})"         \
  R"(\x{2183}-\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}-\x{2CF3})"        \
  R"(\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E})"        \
  R"(\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A})"        \
  R"(\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2})"                 \
  R"(\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"

// `\s+$` is written so that only the first character of a run of white space starts an attempt: else a run
// that is not at the end costs the square of its length.
constexpr std::array kDeepSeekLlm{Pattern(R"([\r\n])"),
                                  Pattern(R"(\s?[)" OXBOW_DEEPSEEK_LETTERS R"(]+)"),
                                  Pattern(R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F})"
                                          R"(\x{3001}-\x{3002}]+)"),
                                  Pattern(R"((?<!\s)\s++\z)"),
                                  kDeepSeekEastAsian,
                                  Pattern(R"(\p{N}+)")};

constexpr std::array kDeepSeekCoder{Pattern(R"([\r\n])"), Pattern(R"(\s?\p{L}+)"), Pattern(R"(\s?\p{P}+)"),
                                    kDeepSeekEastAsian, Pattern(R"(\p{N})")};

constexpr std::array kDeepSeekV3{
    Pattern(R"(\p{N}{1,3})"), Pattern(R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)"),
    Pattern(R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
            R"(| ?[\p{P}\p{S}]+[\r\n]*)" OXBOW_SPACES)};

constexpr std::array kFalcon{Pattern(R"([\p{P}$+<=>^~|`]+)"), kGpt2Pattern, Pattern(R"([0-9][0-9][0-9])")};

constexpr std::array kDefault{Pattern(R"([\p{P}$+<=>^~|]+)"), kGpt2Pattern, Pattern(R"(\p{N}+)"),
                              Pattern(R"([0-9][0-9][0-9])")};

// A character class, parentheses and bars included: that is what the publisher's pattern says.
constexpr Pattern kBloomPattern = R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)";
constexpr std::array kBloom{kBloomPattern};
constexpr std::array kViking{kBloomPattern, Pattern(R"(\p{N})")};

constexpr bool kAddBos = true;
constexpr bool kWholePieces = true;

constexpr PreTokenizerInfo kInfos[] = {
    {"default", kDefault},
    {"gpt-2", kGpt2},
    {"phi-2", kGpt2},
    {"mpt", kGpt2},
    {"olmo", kGpt2},
    {"jais", kGpt2},
    {"gigachat", kGpt2},
    {"mellum", kGpt2},
    {"trillion", kGpt2},
    {"exaone4", kGpt2},
    {"granite-docling", kGpt2},
    {"modern-bert", kGpt2},
    {"llama-bpe", kLlama3, kAddBos, kWholePieces},
    {"llama3", kLlama3, kAddBos, kWholePieces},
    {"llama-v3", kLlama3, kAddBos, kWholePieces},
    {"falcon3", kLlama3, kAddBos, kWholePieces},
    {"falcon-h1", kLlama3, kAddBos, kWholePieces},
    {"pixtral", kLlama3, kAddBos, kWholePieces},
    {"midm-2.0", kLlama3, kAddBos, kWholePieces},
    {"lfm2", kLlama3, kAddBos, kWholePieces},
    {"dbrx", kLlama3},
    {"smaug-bpe", kLlama3},
    {"glm4", kLlama3},
    {"chatglm-bpe", kLlama3},
    {"qwen2", kQwen2},
    {"deepseek-r1-qwen", kQwen2},
    {"stablelm2", kQwen2},
    {"megrez", kQwen2},
    {"hunyuan", kQwen2},
    {"solar-open", kQwen2},
    {"grok-2", kQwen2},
    {"qwen35", kQwen35},
    {"seed-coder", kSeedCoder},
    {"bailingmoe", kBailing},
    {"bailingmoe2", kBailing},
    {"llada-moe", kBailing},
    {"minicpm5", kMiniCpm5, !kAddBos, kWholePieces},
    {"gpt-4o", kGpt4o},
    {"llama4", kGpt4o},
    {"minimax-m2", kGpt4o},
    {"kanana2", kGpt4o},
    {"tekken", kTekken, kAddBos, kWholePieces},
    {"kimi-k2", kKimiK2},
    {"deepseek-llm", kDeepSeekLlm},
    {"deepseek-coder", kDeepSeekCoder},
    {"deepseek-v3", kDeepSeekV3},
    {"hunyuan-dense", kDeepSeekV3},
    {"joyai-llm", kDeepSeekV3},
    {"falcon", kFalcon},
    {"starcoder", kSingleDigitsGpt2},
    {"refact", kSingleDigitsGpt2},
    {"command-r", kSingleDigitsGpt2},
    {"smollm", kSingleDigitsGpt2},
    {"codeshell", kSingleDigitsGpt2},
    {"exaone", kSingleDigitsGpt2},
    {"minerva-7b", kSingleDigitsGpt2},
    {"mellum2", kSingleDigitsGpt2},
    {"bloom", kBloom},
    {"poro-chat", kBloom},
    {"gpt3-finnish", kBloom},
    {"viking", kViking},
};

}  // namespace

const PreTokenizerInfo* find_pre_tokenizer(std::string_view name) {
  const auto* found = std::ranges::find(kInfos, name, &PreTokenizerInfo::name);
  return found == std::end(kInfos) ? nullptr : found;
}

const PreTokenizerInfo& default_pre_tokenizer() {
  return kInfos[0];
}

std::span<const PreTokenizerInfo> all_pre_tokenizers() {
  return kInfos;
}

}  // namespace oxbow::text
