// The built program, as a shell runs it.

#include <gtest/gtest.h>

#include <filesystem>

#include "cli/binary.h"
#include "support/shared.h"

namespace oxbow::testing {
namespace {

const std::string kModel = source_path("tests/golden/granitehybrid-dense.gguf");

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

ProgramRun answer(std::vector<std::string> arguments, const ProgramInput& input = {}) {
  const std::vector<std::string> first = {"run", "-m", kModel, "-t", "1", "-s", "1"};
  arguments.insert(arguments.begin(), first.begin(), first.end());
  return run_program(arguments, input);
}

TEST(Program, TheAnswerAloneGoesToStdout) {
  const ProgramRun run = answer({"-p", "Hello", "-n", "12", "--ignore-eos"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_FALSE(run.out.empty());
  EXPECT_TRUE(contains(run.err, "12 tok")) << run.err;
  EXPECT_FALSE(contains(run.out, "tok ·"));
  EXPECT_FALSE(contains(run.out + run.err, "\x1b"));
  EXPECT_EQ(answer({"-p", "Hello", "-n", "12", "--ignore-eos"}).out, run.out);
  EXPECT_NE(answer({"-p", "Hello", "-n", "12", "--ignore-eos", "-s", "2"}).out, run.out);
}

TEST(Program, ThePromptMayComeFromAFileOrStdin) {
  const TemporaryFolder folder;
  write_file(folder.path("prompt"), "Hello\n");
  const std::string expected = answer({"-p", "Hello", "-n", "8"}).out;
  EXPECT_EQ(answer({"-f", folder.path("prompt"), "-n", "8"}).out, expected);
  EXPECT_EQ(answer({"-n", "8"}, {.in = "Hello\n"}).out, expected);
  EXPECT_EQ(answer({"-f", "-", "-n", "8"}, {.in = "Hello"}).out, expected);
  EXPECT_EQ(run_program({"-m", kModel, "-t", "1", "-s", "1", "-p", "Hello", "-n", "8"}).out, expected);
  EXPECT_EQ(run_program({"run", "-t", "1", "-s", "1", "-n", "8", kModel, "Hello"}).out, expected);
  EXPECT_EQ(run_program({"run", "-t", "1", "-s", "1", "-n", "8", "-p", "Hello"},
                        {.environment = {"OXBOW_MODEL=" + kModel}})
                .out,
            expected);
}

TEST(Program, AnyBytesAreAPrompt) {
  for (const std::string& bytes :
       {std::string("\xFF\xFE\xC3"), std::string("a\0b", 3), std::string(3000, '<'),
        std::string("<|im_end|>"), std::string("\x1b[2J")}) {
    for (const char* mode : {"--raw", "--jinja"}) {
      const ProgramRun run = answer({mode, "-n", "2"}, {.in = bytes});
      EXPECT_EQ(run.exit_code, 0) << run.err;
    }
  }
}

TEST(Program, JsonIsOneObjectAndNothingElse) {
  const ProgramRun run = answer({"-p", "Hello", "-n", "5", "--ignore-eos", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out.front(), '{');
  EXPECT_EQ(run.out.substr(run.out.size() - 2), "}\n");
  for (const char* part :
       {"\"stop\":\"length\"", "\"answer\":5", "\"reused\":0", "\"seed\":1", "\"text\":\""}) {
    EXPECT_TRUE(contains(run.out, part)) << part << " in " << run.out;
  }
}

TEST(Program, APromptThatTheContextDoesNotHoldNamesTheFlag) {
  const ProgramRun run = answer({"-p", "Hello", "-c", "4"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(contains(run.err, "-c ")) << run.err;
}

TEST(Program, AFullContextEndsTheAnswerAndSaysSo) {
  const ProgramRun run = answer({"--raw", "-p", "Hello", "-c", "24", "--ignore-eos"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "the context of 24 tokens is full")) << run.err;
  EXPECT_TRUE(contains(run.err, "-c 48")) << run.err;
}

TEST(Program, AMemoryThatIsTooSmallNamesTheFlag) {
  const ProgramRun run = answer({"-p", "Hello", "-cram", "1", "-b", "512"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_TRUE(contains(run.err, "--cache-ram")) << run.err;
}

TEST(Program, AMissingModelIsExplained) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(kModel, folder.path("right.gguf"));
  const ProgramRun missing = run_program({"run", "-m", folder.path("wrong.gguf"), "-p", "x"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_TRUE(contains(missing.err, folder.path("right.gguf"))) << missing.err;
  for (const char* command : {"show", "tokenize"}) {
    EXPECT_EQ(run_program({command, folder.path("wrong.gguf")}).exit_code, 1);
  }
}

TEST(Program, ADamagedModelIsAnErrorForEveryCommand) {
  const TemporaryFolder folder;
  const std::string whole = read_file(kModel);
  for (const size_t size : {size_t{0}, size_t{3}, size_t{100}, whole.size() / 2, whole.size() - 1}) {
    write_file(folder.path("bad.gguf"), whole.substr(0, size));
    for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
             {"run", "-m", folder.path("bad.gguf"), "-p", "x"},
             {"show", folder.path("bad.gguf")},
             {"tokenize", folder.path("bad.gguf"), "x"},
             {"logits", folder.path("bad.gguf"), "--tokens", "1", "-o", folder.path("out.npy")}}) {
      const ProgramRun run = run_program(arguments);
      EXPECT_EQ(run.exit_code, 1) << arguments[0] << " of " << size << " bytes: " << run.err;
      EXPECT_TRUE(contains(run.err, "bad.gguf")) << run.err;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("out.npy")));
}

TEST(Program, AWrongFlagOrValueIsAUsageError) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"run", "--tmp", "1"},
                                             {"run", "-n", "many"},
                                             {"run", "-c", "-1"},
                                             {"shwo"},
                                             {"logits", "-m", kModel, "--tokens", "1 x", "-o", "x"},
                                             {"run", "-m", kModel, "-p", "a", "-f", "b"}}) {
    const ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_FALSE(run.err.empty());
  }
  EXPECT_TRUE(contains(run_program({"run", "--tmp", "1"}).err, "did you mean --temp?"));
}

TEST(Program, WithoutAPromptOrATerminalItSaysWhatToDo) {
  const ProgramRun run = answer({});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "-p TEXT")) << run.err;
}

TEST(Program, AFullDiskIsAnErrorOfEveryCommand) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"run", "-m", kModel, "-p", "x", "-n", "9", "--ignore-eos"},
                                             {"run", "-m", kModel, "-p", "x", "-n", "9", "--json"},
                                             {"show", kModel},
                                             {"tokenize", kModel, "hello"},
                                             {"--help"}}) {
    const ProgramRun run = run_program(arguments, {.out_path = "/dev/full"});
    EXPECT_EQ(run.exit_code, 1) << arguments[0];
    EXPECT_TRUE(contains(run.err, "cannot be written")) << run.err;
  }
}

TEST(Program, AReaderThatHasGoneEndsItQuietly) {
  const ProgramRun run = answer({"-p", "x", "-n", "2000", "--ignore-eos"}, {.close_out = true});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_FALSE(contains(run.err, "error")) << run.err;
  EXPECT_EQ(run_program({"show", kModel}, {.close_out = true}).exit_code, 0);
}

TEST(Program, ShowNamesLayersAndMemory) {
  const ProgramRun run = run_program({"show", kModel});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* part :
       {"granitehybrid", "MAM", "attention", "byte-level BPE", "ChatML", "8 192", "log row"}) {
    EXPECT_TRUE(contains(run.out, part)) << part << " in " << run.out;
  }
  const ProgramRun json = run_program({"show", kModel, "--json", "-ctk", "f32"});
  for (const char* part :
       {"\"layers\": [\n    \"MF\"", "\"hybrid\": true", "\"key_type\": \"f32\"", "\"state_bytes\""}) {
    EXPECT_TRUE(contains(json.out, part)) << part << " in " << json.out;
  }
}

TEST(Program, ShowDrawsTheMemoryOfAModel) {
  const ProgramRun run = run_program({"show", kModel, "--memory", "-cram", "64"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* part : {"keys, values / token", "log row", "\nM ", "\nA ", "8 192", "░", "a checkpoint",
                           "reach", "64 MB (--cache-ram)", "one sequence of", "checkpoints"}) {
    EXPECT_TRUE(contains(run.out, part)) << part << " in " << run.out;
  }
  const ProgramRun json = run_program({"show", kModel, "--json", "-cram", "64"});
  for (const char* part : {"\"kinds\": [", "\"checkpoint_bytes\": ", "\"budget_bytes\": 67108864"}) {
    EXPECT_TRUE(contains(json.out, part)) << part << " in " << json.out;
  }
}

TEST(Program, TokenizePrintsNumbersAndTexts) {
  const ProgramRun run = run_program({"tokenize", kModel, "--", "it's<|im_end|>\n"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "   511 '<|im_end|>'\n")) << run.out;
  EXPECT_TRUE(contains(run.out, "\\'")) << run.out;
  EXPECT_TRUE(contains(run.out, "'\\n'\n")) << run.out;
  const ProgramRun ids = run_program({"tokenize", kModel, "--ids", "-p", "<|im_end|>"});
  EXPECT_EQ(ids.out, "511\n");
  EXPECT_NE(run_program({"tokenize", kModel, "--ids", "--no-parse-special", "-p", "<|im_end|>"}).out,
            "511\n");
  EXPECT_EQ(run_program({"tokenize", kModel, "--ids"}, {.in = "<|im_end|>"}).out, "511\n");
  EXPECT_EQ(run_program({"tokenize", kModel, "--ids", "-p", ""}).out, "\n");
}

TEST(Program, HelpAndVersionGoToStdout) {
  for (const char* flag : {"--help", "-h", "--version", "help"}) {
    const ProgramRun run = run_program({flag});
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_TRUE(contains(run.out, "xbow")) << run.out;
    EXPECT_EQ(run.err, "");
  }
}

TEST(Program, ChatsThroughTheTemplateThatIsGiven) {
  const TemporaryFolder folder;
  const std::string chatml =
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
      "{{ '<|im_start|>assistant\\n' }}";
  write_file(folder.path("t.jinja"), chatml);
  const std::string expected = answer({"-p", "Hello", "-n", "8", "--ignore-eos"}).out;
  for (const std::vector<std::string>& choice :
       std::vector<std::vector<std::string>>{{"--chat-template", "chatml"},
                                             {"--chat-template", chatml},
                                             {"--chat-template-file", folder.path("t.jinja")}}) {
    const ProgramRun run = answer({"-p", "Hello", "-n", "8", "--ignore-eos", choice[0], choice[1]});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.out, expected);
    EXPECT_FALSE(contains(run.err, "ChatML")) << run.err;
  }
  const ProgramRun other =
      answer({"-p", "Hello", "-n", "8", "--ignore-eos", "--chat-template", "{{ messages[0].content }}"});
  EXPECT_NE(other.out, expected);
}

TEST(Program, WithoutATemplateInTheFileItSaysOnceThatItUsesChatMl) {
  const ProgramRun run = answer({"-p", "Hello", "-n", "2"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const size_t first = run.err.find("ChatML");
  ASSERT_NE(first, std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("ChatML", first + 1), std::string::npos) << run.err;
}

TEST(Program, ABrokenTemplateIsExplained) {
  const TemporaryFolder folder;
  write_file(folder.path("t.jinja"), "a\n{% if x %}");
  const ProgramRun parsed = answer({"-p", "x", "--chat-template-file", folder.path("t.jinja")});
  EXPECT_EQ(parsed.exit_code, 1);
  EXPECT_EQ(parsed.out, "");
  for (const char* part : {"t.jinja", "line 2", "'endif'", "--chat-template chatml"})
    EXPECT_TRUE(contains(parsed.err, part)) << part << " in " << parsed.err;
  const ProgramRun run = answer({"-p", "x", "--chat-template", "\n{{ messages.a.b }}"});
  EXPECT_EQ(run.exit_code, 1);
  for (const char* part : {"line 2", "no attribute 'a'", "--chat-template chatml"})
    EXPECT_TRUE(contains(run.err, part)) << part << " in " << run.err;
  const ProgramRun unknown = answer({"-p", "x", "--chat-template", "chatlm"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_TRUE(contains(unknown.err, "rwkv-world")) << unknown.err;
  const ProgramRun arguments = answer({"-p", "x", "--chat-template-kwargs", "[1]"});
  EXPECT_EQ(arguments.exit_code, 1);
  EXPECT_TRUE(contains(arguments.err, "JSON object")) << arguments.err;
  EXPECT_EQ(answer({"-p", "x", "--chat-template-file", folder.path("none")}).exit_code, 1);
}

TEST(Program, ASystemMessageThatTheTemplateRefusesIsNamed) {
  const std::string chat_template =
      "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not supported') "
      "}}{% endif %}"
      "{{ m.content }}{% endfor %}";
  const ProgramRun run = answer({"-p", "x", "-sys", "Be kind.", "--chat-template", chat_template});
  EXPECT_EQ(run.exit_code, 1);
  for (const char* part : {"takes no system message", "System role not supported", "--chat-template chatml"})
    EXPECT_TRUE(contains(run.err, part)) << part << " in " << run.err;
  EXPECT_EQ(answer({"-p", "x", "-n", "2", "--chat-template", chat_template}).exit_code, 0);
}

TEST(Program, ThoughtsCanBeHiddenAndStandApartInJson) {
  // The prompt opens the thoughts, and this model closes none.
  const std::string opens = "{{ messages[0].content }}<think>";
  const ProgramRun shown = answer({"-p", "x", "-n", "6", "--ignore-eos", "--chat-template", opens});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_FALSE(shown.out.empty());
  EXPECT_EQ(answer({"-p", "x", "-n", "6", "--ignore-eos", "--hide-thinking", "--chat-template", opens}).out,
            "");
  const ProgramRun json = answer({"-p", "x", "-n", "6", "--ignore-eos", "--json", "--chat-template", opens});
  EXPECT_TRUE(contains(json.out, "\"text\":\"\"")) << json.out;
  EXPECT_TRUE(contains(json.out, "\"thinking\":\"")) << json.out;
  const ProgramRun without = answer({"-p", "x", "-n", "1", "--no-think", "--chat-template", opens});
  EXPECT_TRUE(contains(without.err, "no switch for thinking")) << without.err;
  const ProgramRun with =
      answer({"-p", "x", "-n", "1", "--no-think", "--chat-template", "{{ enable_thinking }}"});
  EXPECT_FALSE(contains(with.err, "no switch")) << with.err;
}

}  // namespace
}  // namespace oxbow::testing
