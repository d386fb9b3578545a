#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "cli/binary.h"
#include "cli/options.h"
#include "cli/serving.h"
#include "server/raw_client.h"

namespace oxbow::cli {
namespace {

using server::test::get;
using server::test::RawClient;
using testing::ServingProgram;

const std::string kModel = OXBOW_SOURCE_DIR "/models/oxbow-mini.gguf";

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

ServeOptions serve_options(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "serve");
  auto command = parse_command_line(arguments);
  if (!command) {
    ADD_FAILURE() << command.error().text;
    return {};
  }
  return std::get<ServeOptions>(std::move(*command));
}

std::string serve_error(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "serve");
  const auto command = parse_command_line(arguments);
  return command ? "" : command.error().text;
}

TEST(ServeOptions, FlagsOfOtherServersAreUnderstood) {
  const auto o = serve_options({"-m", "x.gguf", "-np", "4", "-c", "100", "--host", "0.0.0.0", "--api-key",
                                "a,b", "-cb", "--metrics", "--jinja", "-a", "name", "--max-body", "2M"});
  EXPECT_EQ(o.common.model, "x.gguf");
  EXPECT_EQ(o.parallel, 4u);
  EXPECT_EQ(o.memory.context, 100);
  EXPECT_EQ(o.host, "0.0.0.0");
  EXPECT_EQ(o.keys, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(o.alias, "name");
  EXPECT_EQ(o.body_bytes, 2u << 20);
  EXPECT_EQ(serve_options({"file.gguf"}).common.model, "file.gguf");
}

TEST(ServeOptions, EveryFlagHasATwinInTheEnvironment) {
  const std::pair<const char*, const char*> twins[] = {
      {"OXBOW_PORT", "77"},           {"OXBOW_HOST", "::1"},         {"OXBOW_API_KEY", "k"},
      {"OXBOW_CACHE_SHARED", "true"}, {"OXBOW_SLOT_SAVE_PATH", "d"}, {"OXBOW_PARALLEL", "3"},
      {"OXBOW_LOG_JSONL", "1"},       {"OXBOW_ALIAS", "n"},          {"OXBOW_SHUTDOWN_TIMEOUT", "4"}};
  for (const auto& [name, value] : twins) ::setenv(name, value, 1);
  const auto o = serve_options({"--parallel", "9"});
  for (const auto& [name, value] : twins) ::unsetenv(name);
  EXPECT_EQ(o.port, 77);
  EXPECT_EQ(o.host, "::1");
  EXPECT_EQ(o.keys, std::vector<std::string>{"k"});
  EXPECT_TRUE(o.cache_shared);
  EXPECT_TRUE(o.log_jsonl);
  EXPECT_EQ(o.slot_folder, "d");
  EXPECT_EQ(o.alias, "n");
  EXPECT_EQ(o.drain_seconds, 4);
  EXPECT_EQ(o.parallel, 9u);
}

TEST(ServeOptions, WrongValuesAreNamed) {
  EXPECT_TRUE(has(serve_error({"--port", "70000"}), "from 0 to 65535 (default: 8080)"));
  EXPECT_TRUE(has(serve_error({"--host", ""}), "nothing to listen on"));
  EXPECT_TRUE(has(serve_error({"--parallel", "64", "-b", "32"}), "--batch-size 32"));
  EXPECT_TRUE(has(serve_error({"--prot", "1"}), "did you mean --port?"));
  EXPECT_TRUE(has(serve_error({"--help"}), "--api-key-file"));
}

TEST(Serve, SaysWhereItListensAndEndsWithZero) {
  ServingProgram program({"-m", kModel, "-t", "1"});
  ASSERT_NE(program.port(), 0) << program.first_line();
  EXPECT_EQ(program.first_line(), "listening on http://127.0.0.1:" + std::to_string(program.port()));
  RawClient client(program.port());
  client.send(get("/health"));
  EXPECT_TRUE(client.read_answer().starts_with("HTTP/1.1 200"));
  ASSERT_TRUE(program.wait_until_ready());
  client.send(get("/metrics"));
  EXPECT_TRUE(has(client.read_answer(), "\noxbow_num_requests_running 0\n"));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0);
}

TEST(Serve, EndsAtOnceWhileTheModelIsLoaded) {
  ServingProgram program({"-m", kModel, "-t", "1"});
  ASSERT_NE(program.port(), 0);
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(), 0);
}

TEST(Serve, ABusyPortIsAnErrorThatNamesAnother) {
  ServingProgram program({"-m", kModel, "-t", "1"});
  ASSERT_NE(program.port(), 0);
  const auto second = testing::run_program({"serve", "-m", kModel, "--port", std::to_string(program.port())});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_EQ(second.out, "");
  EXPECT_TRUE(has(second.err, "is in use, try --port " + std::to_string(program.port() + 1))) << second.err;
}

TEST(Serve, WhatIsMissingIsSaidBeforeItListens) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"serve", "-m", "missing.gguf"},
                                                    {"serve", "-m", kModel, "--api-key-file", "missing.txt"},
                                                    {"serve", "-m", kModel, "--slot-save-path", "missing"},
                                                    {"serve", "-m", OXBOW_SOURCE_DIR "/README.md"}}) {
    const auto run = testing::run_program(arguments);
    EXPECT_NE(run.exit_code, 0);
    EXPECT_EQ(run.out, "");
    EXPECT_TRUE(has(run.err, "missing") || has(run.err, "README.md")) << run.err;
  }
}

TEST(Serve, AModelThatCannotBeLoadedEndsIt) {
  const testing::TemporaryFolder folder;
  std::string bytes = testing::read_file(kModel);
  bytes.resize(bytes.size() / 2);
  testing::write_file(folder.path("half.gguf"), bytes);
  const auto run = testing::run_program({"serve", "--port", "0", "-m", folder.path("half.gguf")});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_TRUE(has(run.err, "half.gguf")) << run.err;
}

TEST(Serve, ListensOnAUnixSocketAndRemovesIt) {
  const testing::TemporaryFolder folder;
  ServingProgram program({"-m", kModel, "-t", "1", "--unix-socket", folder.path("s")});
  ASSERT_NE(program.port(), 0);
  EXPECT_EQ(::access(folder.path("s").c_str(), F_OK), 0);
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0);
  EXPECT_NE(::access(folder.path("s").c_str(), F_OK), 0);
}

TEST(Serve, KeysProtectEverythingButHealth) {
  const testing::TemporaryFolder folder;
  testing::write_file(folder.path("keys"), "# of the test\nsecret\n");
  ServingProgram program({"-m", kModel, "-t", "1", "--api-key-file", folder.path("keys")});
  ASSERT_TRUE(program.wait_until_ready());
  RawClient client(program.port());
  for (const char* path : {"/metrics", "/v1/models", "/nothing"}) {
    client.send(get(path));
    EXPECT_TRUE(client.read_answer().starts_with("HTTP/1.1 401")) << path;
  }
  client.send(get("/v1/models", "Authorization: Bearer secret\r\n"));
  EXPECT_TRUE(client.read_answer().starts_with("HTTP/1.1 200"));
}

}  // namespace
}  // namespace oxbow::cli
