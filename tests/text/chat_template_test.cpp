#include "text/chat_template.h"

#include <array>
#include <thread>

#include "text/jinja_support.h"
#include "text/vocabulary_support.h"

namespace oxbow::text::testing {
namespace {

const ordered_json kMessages = ordered_json::parse(R"([
  {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi\nthere"}])");

std::string render_chat_text(std::string_view source, ChatTemplateInput input) {
  const auto parsed = ChatTemplate::parse(source);
  return parsed ? shown(parsed->render(input)) : "error: " + parsed.error().message;
}

TEST(ChatTemplate, SeesMessagesToolsDocumentsAndTokens) {
  const ordered_json tools =
      ordered_json::parse(R"([{"type": "function", "function": {"name": "f", "b": 1, "a": 2}}])");
  ChatTemplateInput input;
  input.messages = &kMessages;
  input.tools = &tools;
  input.bos_token = "<s>";
  input.eos_token = "</s>";
  EXPECT_EQ(
      render_chat_text(
          "{{ bos_token }}{% for m in messages %}{{ m.role }}={{ m['content'] }}{{ eos_token }}{% endfor %}"
          "{{ tools[0] | tojson }}{{ documents }}{% if add_generation_prompt %}>{% endif %}",
          input),
      "<s>system=Be brief.</s>user=Hi\nthere</s>"
      R"({"type": "function", "function": {"name": "f", "b": 1, "a": 2}}None>)");
  input.add_generation_prompt = false;
  EXPECT_EQ(render_chat_text("{% if not tools is none %}t{% endif %}{{ add_generation_prompt }}", input),
            "tFalse");
}

TEST(ChatTemplate, ArgumentsWinOverEverything) {
  const ordered_json arguments = {{"enable_thinking", false}, {"bos_token", "B"}, {"tools", "none"}};
  ChatTemplateInput input;
  input.messages = &kMessages;
  input.arguments = &arguments;
  EXPECT_EQ(render_chat_text("{{ enable_thinking }}{{ bos_token }}{{ tools }}", input), "FalseBnone");
  const ordered_json list = ordered_json::array();
  input.arguments = &list;
  EXPECT_EQ(render_chat_text("x", input), "error: chat template: template arguments must be an object");
}

TEST(ChatTemplate, WhatATemplateRaisesIsTheErrorWithItsLine) {
  ChatTemplateInput input;
  input.messages = &kMessages;
  EXPECT_EQ(
      render_chat_text(
          "\n{% if messages[0].role == 'system' %}\n{{ raise_exception('No system role') }}\n{% endif %}",
          input),
      "error: chat template: line 3: No system role");
}

TEST(ChatTemplate, TellsTheTime) {
  std::tm now{};
  now.tm_year = 126;
  now.tm_mon = 10;
  now.tm_mday = 3;
  ChatTemplateInput input;
  input.now = now;
  EXPECT_EQ(render_chat_text("{{ strftime_now('%d %b %Y') }}", input), "03 Nov 2026");
  EXPECT_EQ(render_chat_text("{{ strftime_now('%Y') | length }}", {}), "4");
}

TEST(ChatTemplate, KnowsWhichVariablesItMentions) {
  const auto parsed = ChatTemplate::parse("{% if enable_thinking %}{{ x.thinking2 }}{% endif %}");
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->mentions("enable_thinking"));
  EXPECT_TRUE(parsed->mentions("x"));
  EXPECT_FALSE(parsed->mentions("thinking"));
}

TEST(ChatTemplate, RendersTheSameOnManyThreadsAtOnce) {
  const std::string source =
      "{% macro m(x) %}<{{ x | upper }}>{% endmacro %}{% set ns = namespace(n=0) %}{% for m in messages %}"
      "{% set ns.n = ns.n + loop.index %}{{ m['role'] ~ '|' ~ 'constant'.split('s') }}{% endfor %}{{ m('é') "
      "}}{{ ns.n }}";
  const auto parsed = ChatTemplate::parse(source);
  ASSERT_TRUE(parsed);
  ChatTemplateInput input;
  input.messages = &kMessages;
  const std::string wanted = shown(parsed->render(input));
  std::array<std::thread, 4> threads;
  std::array<bool, 4> same{};
  for (size_t i = 0; i < threads.size(); ++i) {
    threads[i] = std::thread([&, i] {
      same[i] = true;
      for (int n = 0; n < 200; ++n) same[i] = same[i] && shown(parsed->render(input)) == wanted;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const bool good : same) EXPECT_TRUE(good);
}

TEST(ChatTemplate, BuiltinTemplatesWriteTheirFormats) {
  ChatTemplateInput input;
  const ordered_json messages =
      ordered_json::parse(R"([{"role": "system", "content": "S"}, {"role": "user", "content": "U"},
    {"role": "assistant", "content": "A"}, {"role": "user", "content": " V\n"}])");
  input.messages = &messages;
  input.bos_token = "<b>";
  const auto with = [&](std::string_view name) {
    return render_chat_text(builtin_chat_template(name), input);
  };
  EXPECT_EQ(
      with("chatml"),
      "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n"
      "<|im_start|>user\n V\n<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(with("gemma"),
            "<b><start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n<start_of_"
            "turn>user\nV"
            "<end_of_turn>\n<start_of_turn>model\n");
  EXPECT_EQ(with("llama3"),
            "<b><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user<|end_header_"
            "id|>\n\nU"
            "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nA<|eot_id|><|start_header_id|>user"
            "<|end_header_id|>\n\nV<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n");
  EXPECT_EQ(with("rwkv-world"), "S\n\nUser: U\n\nAssistant: A\n\nUser: V\n\nAssistant:");
  input.add_generation_prompt = false;
  for (const std::string& name : builtin_chat_template_names()) {
    const std::string text = with(name);
    EXPECT_FALSE(text.starts_with("error")) << name << ": " << text;
  }
  EXPECT_EQ(builtin_chat_template("nope"), nullptr);
}

TEST(ChatTemplate, IsFoundInAFileByItsKeyAndByName) {
  std::vector<std::vector<std::byte>> kept;  // the files' bytes
  const auto file_with = [&](const std::function<void(gguf::Writer&)>& add) {
    gguf::Writer writer;
    add(writer);
    kept.push_back(*writer.bytes());
    return gguf::File::parse(kept.back(), "test.gguf");
  };
  const auto both = file_with([](gguf::Writer& writer) {
    writer.add_string("tokenizer.chat_template", "main");
    writer.add_string("tokenizer.chat_template.tool_use", "tools");
    writer.add_string("tokenizer.chat_template.rag", "rag");
    writer.add_uint32("tokenizer.chat_template.odd", 1);
  });
  ASSERT_TRUE(both);
  EXPECT_EQ(find_chat_template(*both), "main");
  EXPECT_EQ(find_chat_template(*both, "tool_use"), "tools");
  EXPECT_EQ(find_chat_template(*both, "odd"), std::nullopt);
  EXPECT_EQ(find_chat_template(*both, "none"), std::nullopt);
  EXPECT_EQ(chat_template_names(*both), (std::vector<std::string>{"tool_use", "rag"}));
  const auto named =
      file_with([](gguf::Writer& writer) { writer.add_string("tokenizer.chat_template", "rwkv-world"); });
  ASSERT_TRUE(named);
  EXPECT_EQ(find_chat_template(*named), builtin_chat_template("rwkv-world"));
  const auto wrong = file_with([](gguf::Writer& writer) { writer.add_uint32("tokenizer.chat_template", 1); });
  ASSERT_TRUE(wrong);
  EXPECT_EQ(find_chat_template(*wrong), std::nullopt);
}

}  // namespace
}  // namespace oxbow::text::testing
