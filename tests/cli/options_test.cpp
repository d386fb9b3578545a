#include "cli/options.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace oxbow::cli {
namespace {

RunOptions run_options(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "run");
  const auto command = parse_command_line(arguments);
  if (!command) {
    ADD_FAILURE() << command.error().text;
    return {};
  }
  return std::get<RunOptions>(*command);
}

std::string usage_error(const std::vector<std::string>& arguments) {
  const auto command = parse_command_line(arguments);
  if (command) {
    ADD_FAILURE() << "accepted";
    return {};
  }
  EXPECT_EQ(command.error().exit_code, 2);
  return command.error().text;
}

TEST(Options, TheFlagsThatPeopleKnowAreUnderstood) {
  const RunOptions o = run_options({"-m",
                                    "x.gguf",
                                    "-p",
                                    "hi",
                                    "-n",
                                    "7",
                                    "-c",
                                    "99",
                                    "-t",
                                    "2",
                                    "--temp",
                                    "0.5",
                                    "--top-k",
                                    "3",
                                    "--top-p",
                                    "0.7",
                                    "--min-p",
                                    "0.1",
                                    "--repeat-penalty",
                                    "1.1",
                                    "-s",
                                    "42",
                                    "-sys",
                                    "be kind",
                                    "-co",
                                    "off",
                                    "-v",
                                    "-ctk",
                                    "f32",
                                    "-ngl",
                                    "99",
                                    "--jinja",
                                    "--no-display-prompt",
                                    "-b",
                                    "64",
                                    "-cram",
                                    "100",
                                    "--rewind-bytes",
                                    "2M"});
  EXPECT_EQ(o.common.model, "x.gguf");
  EXPECT_EQ(o.prompt, "hi");
  EXPECT_EQ(o.predict, 7);
  EXPECT_EQ(o.memory.context, 99);
  EXPECT_EQ(o.common.threads, 2);
  const auto sampling = o.sampling.over({});
  EXPECT_EQ(sampling.temperature, 0.5f);
  EXPECT_EQ(sampling.top_k, 3u);
  EXPECT_EQ(sampling.top_p, 0.7f);
  EXPECT_EQ(sampling.min_p, 0.1f);
  EXPECT_EQ(sampling.repeat_penalty, 1.1f);
  EXPECT_EQ(o.sampling.seed, 42);
  EXPECT_EQ(o.system, "be kind");
  EXPECT_EQ(o.common.color, ColorChoice::kOff);
  EXPECT_EQ(o.common.verbosity, 1);
  EXPECT_EQ(o.memory.kv.key, kernels::KvType::kF32);
  EXPECT_EQ(o.memory.kv.value, kernels::KvType::kF16);
  EXPECT_TRUE(o.gpu_layers_given);
  EXPECT_EQ(o.batch_tokens, 64u);
  EXPECT_EQ(o.memory.budget_mib, 100u);
  EXPECT_EQ(o.memory.rewind_bytes, size_t{2} << 20);
}

TEST(Options, WhatIsNotGivenIsTheModels) {
  engine::SamplerSettings models;
  models.temperature = 0.3f;
  models.top_k = 7;
  const auto settings = run_options({"--top-k", "9"}).sampling.over(models);
  EXPECT_EQ(settings.temperature, 0.3f);
  EXPECT_EQ(settings.top_k, 9u);
}

TEST(Options, TheModelAndThePromptMayBeWords) {
  const RunOptions both = run_options({"x.gguf", "why", "is", "it"});
  EXPECT_EQ(both.common.model, "x.gguf");
  EXPECT_EQ(both.prompt, "why is it");
  const RunOptions prompt = run_options({"-m", "x.gguf", "[a, b]"});
  EXPECT_EQ(prompt.common.model, "x.gguf");
  EXPECT_EQ(prompt.prompt, "[a, b]");
  EXPECT_EQ(run_options({"x.gguf", "--", "-n", "5"}).prompt, "-n 5");
  EXPECT_EQ(usage_error({"run", "x.gguf", "one", "-p", "two"}), "there are two prompts: -p and \"one\"");
  EXPECT_EQ(usage_error({"show", "x.gguf", "y"}), "\"y\" is one word too many");
}

TEST(Options, TextsArriveAsTheyAre) {
  for (const char* text : {"", " ", "[x]", "a,b", "-sys", "--", "{}", "\xFF\xFE", "%s"}) {
    EXPECT_EQ(run_options({"-p", text}).prompt, text);
  }
}

TEST(Options, WithoutACommandFlagsAreThoseOfRun) {
  const auto command = parse_command_line({"-m", "x.gguf", "-p", "hi"});
  ASSERT_TRUE(command);
  EXPECT_EQ(std::get<RunOptions>(*command).prompt, "hi");
}

TEST(Options, TheLastOfSeveralValuesCounts) {
  EXPECT_EQ(run_options({"-n", "1", "-n", "2"}).predict, 2);
}

TEST(Options, AWrongValueNamesTheRangeAndTheDefault) {
  EXPECT_EQ(
      usage_error({"run", "--temp", "hot"}),
      "--temperature: expected a number from 0 to 100 (default: the model's, else 0.8), \"hot\" was given");
  EXPECT_EQ(usage_error({"run", "-n", "-2"}),
            "--n-predict: expected a whole number from -1 to 2147483647 (default: -1), \"-2\" was given");
  EXPECT_EQ(usage_error({"run", "-ctk", "q8_0"}),
            "--cache-type-k: expected f16 or f32 (default: f16), \"q8_0\" was given");
  EXPECT_EQ(usage_error({"run", "--rewind-bytes", "lots"}),
            "--rewind-bytes: expected bytes such as 64M (default: two states), \"lots\" was given");
  for (const char* value : {"", "0", "nan", "1e9", "99999999999999999999", "4x"}) {
    EXPECT_NE(usage_error({"run", "-t", value}).find("from 1 to 1024"), std::string::npos) << value;
  }
}

TEST(Options, ContradictionsAreNamed) {
  EXPECT_EQ(usage_error({"run", "-p", "a", "-f", "b"}), "there are two prompts: a text and -f b");
  EXPECT_NE(usage_error({"run", "--raw", "-sys", "x"}).find("no system message"), std::string::npos);
  EXPECT_EQ(usage_error({"logits", "--tokens", "1"}), "the file to write is missing: -o FILE");
  EXPECT_EQ(usage_error({"logits", "-o", "x"}), "expected either --tokens LIST or --tokens-file FILE");
  EXPECT_EQ(usage_error({"logits", "-o", "x", "--tokens", "1 a"}),
            "token 1 of the list is \"a\", expected a number from 0");
}

TEST(Options, AnUnknownCommandNamesTheNearest) {
  EXPECT_EQ(usage_error({"shwo"}), "unknown command shwo, did you mean show?");
  EXPECT_EQ(usage_error({"model.gguf"}),
            "\"model.gguf\" is no command; to run a model: oxbow run model.gguf");
  EXPECT_EQ(usage_error({"run", "--ctx-sizes", "5"}), "unknown option --ctx-sizes, did you mean --ctx-size?");
}

TEST(Options, HelpAndVersionAreNoErrors) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"--help"},
                                                                     {"-h"},
                                                                     {"help"},
                                                                     {"help", "run"},
                                                                     {"run", "--help"},
                                                                     {"logits", "-h"},
                                                                     {"--version"}}) {
    const auto command = parse_command_line(arguments);
    ASSERT_FALSE(command);
    EXPECT_EQ(command.error().exit_code, 0);
    EXPECT_FALSE(command.error().text.empty());
  }
  const auto help = parse_command_line({"run", "--help"}).error().text;
  for (const char* name : {"--ctx-size", "--temp", "-sys", "-ctk", "--seed", "OXBOW_CTX_SIZE"}) {
    EXPECT_NE(help.find(name), std::string::npos) << name;
  }
}

TEST(Options, TheEnvironmentCountsLessThanTheCommandLine) {
  ::setenv("OXBOW_CTX_SIZE", "77", 1);
  EXPECT_EQ(run_options({}).memory.context, 77);
  EXPECT_EQ(run_options({"-c", "5"}).memory.context, 5);
  ::setenv("OXBOW_CTX_SIZE", "many", 1);
  EXPECT_NE(usage_error({"run"}).find("many"), std::string::npos);
  ::unsetenv("OXBOW_CTX_SIZE");
}

TEST(Options, TheChatTemplateAndItsSwitches) {
  const RunOptions none = run_options({"-p", "x"});
  EXPECT_FALSE(none.chat.chat_template || none.chat.template_file || none.chat.think || none.hide_thinking);
  const RunOptions given = run_options(
      {"--chat-template", "chatml", "--chat-template-kwargs", "{}", "-rea", "off", "--hide-thinking"});
  EXPECT_EQ(given.chat.chat_template, "chatml");
  EXPECT_EQ(given.chat.arguments, "{}");
  EXPECT_EQ(given.chat.think, false);
  EXPECT_TRUE(given.hide_thinking);
  EXPECT_EQ(run_options({"--think"}).chat.think, true);
  EXPECT_EQ(run_options({"--no-think"}).chat.think, false);
  EXPECT_EQ(run_options({"--reasoning", "auto"}).chat.think, std::nullopt);
  EXPECT_EQ(run_options({"--chat-template-file", "x.jinja"}).chat.template_file, "x.jinja");
  EXPECT_NE(usage_error({"run", "--chat-template", "chatml", "--chat-template-file", "x"})
                .find("two chat templates"),
            std::string::npos);
  EXPECT_NE(usage_error({"run", "--raw", "--chat-template", "chatml"}).find("--raw"), std::string::npos);
}

}  // namespace
}  // namespace oxbow::cli
