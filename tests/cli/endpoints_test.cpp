// The endpoints of `oxbow serve` with the bundled model, over a socket.

#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "cli/binary.h"
#include "cli/serving.h"
#include "server/raw_client.h"

namespace oxbow::cli {
namespace {

using nlohmann::json;
using server::test::get;
using server::test::post;
using server::test::RawClient;

const std::string kModel = OXBOW_SOURCE_DIR "/models/oxbow-mini.gguf";

class Endpoints : public ::testing::Test {
 protected:
  explicit Endpoints(const std::vector<std::string>& more = {}) : program_(arguments(folder_.path(), more)) {}
  static std::vector<std::string> arguments(const std::string& folder, const std::vector<std::string>& more) {
    std::vector<std::string> all = {"-m", kModel, "-t", "1", "--parallel", "4", "--slot-save-path", folder};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  void SetUp() override {
    ASSERT_NE(program_.port(), 0) << program_.first_line();
    ASSERT_TRUE(program_.wait_until_ready());
  }

  std::string raw(const std::string& request) const {
    RawClient client(program_.port());
    client.send(request);
    return client.read_answer();
  }
  static json body_of(const std::string& answer) {
    const size_t end = answer.find("\r\n\r\n");
    return end == std::string::npos ? json() : json::parse(answer.substr(end + 4), nullptr, false);
  }
  json ask(const std::string& path, const json& body) const { return body_of(raw(post(path, body.dump()))); }
  std::string stream(const std::string& path, json body) const {
    body["stream"] = true;
    RawClient client(program_.port());
    client.send(post(path, body.dump()));
    return client.read_until("data: [DONE]\n\n");
  }
  static json greedy(json messages) {
    return {{"messages", std::move(messages)}, {"temperature", 0}, {"max_tokens", 24}};
  }
  static json user(const std::string& text) { return {{"role", "user"}, {"content", text}}; }
  static std::string content_of(const json& answer) {
    return answer["choices"][0]["message"]["content"].get<std::string>();
  }
  static size_t cached(const json& answer) {
    return answer["usage"]["prompt_tokens_details"]["cached_tokens"].get<size_t>();
  }

  oxbow::testing::TemporaryFolder folder_;
  oxbow::testing::ServingProgram program_;
};

TEST_F(Endpoints, AChatIsAnsweredWithItsUsage) {
  const json answer = ask("/v1/chat/completions", greedy({user("My name is Anna. What is my name?")}));
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  EXPECT_NE(content_of(answer).find("Anna"), std::string::npos) << answer.dump();
  EXPECT_EQ(answer["usage"]["total_tokens"].get<int>(),
            answer["usage"]["prompt_tokens"].get<int>() + answer["usage"]["completion_tokens"].get<int>());
}

TEST_F(Endpoints, AStreamSaysTheSameAndEnds) {
  const json request = greedy({user("My name is Anna. What is my name?")});
  const std::string whole = content_of(ask("/v1/chat/completions", request));
  const std::string events = stream("/v1/chat/completions", request);
  EXPECT_TRUE(events.ends_with("data: [DONE]\n\n"));
  std::string text;
  for (size_t at = events.find("data: {"); at != std::string::npos; at = events.find("data: {", at + 1)) {
    const json chunk = json::parse(events.substr(at + 6, events.find('\n', at) - at - 6));
    EXPECT_EQ(chunk["object"], "chat.completion.chunk");
    if (!chunk["choices"].empty()) text += chunk["choices"][0]["delta"].value("content", "");
  }
  EXPECT_EQ(text, whole);
}

TEST_F(Endpoints, EveryTurnReusesTheOnesBefore) {
  json messages = json::array();
  size_t before = 0;
  for (int turn = 0; turn < 10; ++turn) {
    messages.push_back(user("My cat is called Tom" + std::to_string(turn) + ". What is my cat called?"));
    const json answer = ask("/v1/chat/completions", greedy(messages));
    const size_t prompt = answer["usage"]["prompt_tokens"].get<size_t>();
    if (turn > 0) EXPECT_GE(cached(answer) + 64, before) << "turn " << turn;
    EXPECT_LT(cached(answer), prompt);
    before = prompt;
    messages.push_back({{"role", "assistant"}, {"content", content_of(answer)}});
  }
  // Regenerated: everything but the last token.
  messages.erase(messages.size() - 1);
  EXPECT_EQ(cached(ask("/v1/chat/completions", greedy(messages))), before - 1);
  // Edited two turns back: everything up to the edit is still there.
  json edited = messages;
  edited.erase(edited.size() - 1);
  edited.erase(edited.size() - 1);
  const size_t up_to_edit =
      ask("/v1/chat/completions", greedy(edited))["usage"]["prompt_tokens"].get<size_t>();
  edited.back() = user("What is the weather?");
  EXPECT_GE(cached(ask("/v1/chat/completions", greedy(edited))) + 64, up_to_edit);
}

TEST_F(Endpoints, ASchemaIsKept) {
  json request = greedy({user("Who is it?")});
  request["temperature"] = 1.5;
  request["max_tokens"] = 400;
  request["response_format"] = json::parse(R"({"type":"json_schema","json_schema":{"name":"x","schema":
    {"type":"object","properties":{"name":{"type":"string","maxLength":8},"age":{"type":"integer"}},
     "required":["name","age"],"additionalProperties":false}}})");
  for (int seed = 0; seed < 5; ++seed) {
    request["seed"] = seed;
    const json answer = ask("/v1/chat/completions", request);
    const json value = json::parse(content_of(answer), nullptr, false);
    EXPECT_TRUE(value.is_object() && value.size() == 2 && value["age"].is_number_integer()) << answer.dump();
  }
  request["response_format"]["json_schema"]["schema"] = {{"not", json::object()}};
  const json refused = ask("/v1/chat/completions", request);
  EXPECT_EQ(refused["error"]["code"], "unsupported_schema");
  EXPECT_NE(refused["error"]["message"].get<std::string>().find("'not'"), std::string::npos);
}

class ToolEndpoints : public Endpoints {
 protected:
  ToolEndpoints()
      : Endpoints({"--chat-template-file", OXBOW_SOURCE_DIR "/tests/text/templates/hermes_tools.jinja"}) {}
  static json with_tools() {
    json request = greedy({user("What is the weather in Rome?")});
    request["max_tokens"] = 300;
    request["tools"] = json::parse(
        R"([{"type":"function","function":{"name":"get_weather","description":"The weather","parameters":
      {"type":"object","properties":{"days":{"type":"integer","description":"How many","minimum":1,"maximum":9}},"required":["days"],
       "additionalProperties":false}}}])");
    return request;
  }
};

TEST_F(ToolEndpoints, ARequiredToolIsCalled) {
  json request = with_tools();
  request["temperature"] = 1.2;
  request["parallel_tool_calls"] = false;
  for (const json& choice :
       {json("required"), json{{"type", "function"}, {"function", {{"name", "get_weather"}}}}}) {
    request["tool_choice"] = choice;
    for (int seed = 0; seed < 4; ++seed) {
      request["seed"] = seed;
      const json answer = ask("/v1/chat/completions", request);
      ASSERT_TRUE(answer.contains("choices")) << answer.dump();
      const json calls = answer["choices"][0]["message"]["tool_calls"];
      ASSERT_EQ(calls.size(), 1u) << answer.dump();
      EXPECT_EQ(calls[0]["function"]["name"], "get_weather");
      const int days = json::parse(calls[0]["function"]["arguments"].get<std::string>())["days"].get<int>();
      EXPECT_TRUE(days >= 1 && days <= 9) << days;
      EXPECT_EQ(answer["choices"][0]["finish_reason"], "tool_calls");
    }
  }
}

TEST_F(ToolEndpoints, AStreamHasTheCallAsDeltas) {
  json request = with_tools();
  request["tool_choice"] = "required";
  request["parallel_tool_calls"] = false;
  const std::string events = stream("/v1/chat/completions", request);
  EXPECT_NE(events.find(R"("name":"get_weather")"), std::string::npos) << events;
  EXPECT_NE(events.find(R"("finish_reason":"tool_calls")"), std::string::npos);
}

TEST_F(Endpoints, ToolsWithoutAPlaceInTheTemplateAreRefused) {
  json request = greedy({user("x")});
  request["tools"] = json::parse(R"([{"type":"function","function":{"name":"f"}}])");
  EXPECT_EQ(ask("/v1/chat/completions", request)["error"]["param"], "tools");
  request["tool_choice"] = "none";
  EXPECT_TRUE(ask("/v1/chat/completions", request).contains("choices"));
}

TEST_F(Endpoints, StopTextsEndAnAnswerAcrossTokens) {
  json request = {{"prompt", "Once upon"}, {"temperature", 0}, {"max_tokens", 16}};
  const std::string text = ask("/v1/completions", request)["choices"][0]["text"].get<std::string>();
  ASSERT_GE(text.size(), 12u);
  request["stop"] = text.substr(5, 6);
  const json answer = ask("/v1/completions", request);
  EXPECT_EQ(answer["choices"][0]["text"], text.substr(0, text.find(text.substr(5, 6))));
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
}

TEST_F(Endpoints, SeveralChoicesAndLogprobs) {
  const json answer =
      ask("/v1/completions",
          {{"prompt", "Once upon"}, {"temperature", 0}, {"max_tokens", 4}, {"n", 3}, {"logprobs", 2}});
  ASSERT_EQ(answer["choices"].size(), 3u);
  for (const json& choice : answer["choices"]) {
    EXPECT_EQ(choice["text"], answer["choices"][0]["text"]);
    EXPECT_EQ(choice["logprobs"]["tokens"].size(), 4u);
    EXPECT_EQ(choice["logprobs"]["token_logprobs"], answer["choices"][0]["logprobs"]["token_logprobs"]);
  }
}

TEST_F(Endpoints, ASavedSlotIsReusedAfterItWasErased) {
  const json request = {{"prompt", "My name is Anna and I live in a house near the river"},
                        {"id_slot", 0},
                        {"temperature", 0},
                        {"n_predict", 8}};
  const json first = ask("/completion", request);
  const std::string slot = "/slots/" + std::to_string(first["id_slot"].get<int>());
  const json saved = ask(slot + "?action=save", {{"filename", "a.session"}});
  EXPECT_GT(saved["n_saved"].get<int>(), 8) << saved.dump();
  EXPECT_EQ(saved["n_reusable"], saved["n_saved"]);
  EXPECT_GT(ask(slot + "?action=erase", json::object())["n_erased"].get<int>(), 8);
  EXPECT_EQ(ask(slot + "?action=restore", {{"filename", "a.session"}})["n_restored"], saved["n_saved"]);
  const json again = ask("/completion", request);
  EXPECT_EQ(again["content"], first["content"]);
  EXPECT_EQ(again["timings"]["prompt_n"], 1);
  for (const char* name : {"../a", "/etc/passwd", ".hidden", ""}) {
    EXPECT_EQ(ask(slot + "?action=save", {{"filename", name}})["error"]["param"], "filename") << name;
  }
}

TEST_F(Endpoints, TokensGoThereAndBack) {
  const json tokens = ask("/tokenize", {{"content", "hello world"}})["tokens"];
  EXPECT_EQ(ask("/detokenize", {{"tokens", tokens}})["content"], "hello world");
  EXPECT_EQ(ask("/detokenize", {{"tokens", {0, 99999999}}})["error"]["param"], "tokens[1]");
  // A character that no token has whole comes as the bytes of its parts.
  std::string bytes;
  const json parts = ask("/tokenize", {{"content", "\u4e16"}, {"with_pieces", true}})["tokens"];
  EXPECT_TRUE(parts[0]["piece"].is_array()) << parts.dump();
  for (const json& token : parts) {
    if (token["piece"].is_string()) bytes += token["piece"].get<std::string>();
    if (token["piece"].is_array())
      for (const json& byte : token["piece"]) bytes += static_cast<char>(byte.get<int>());
  }
  EXPECT_EQ(bytes, "\u4e16");
  EXPECT_NE(ask("/apply-template", greedy({user("hi")}))["prompt"].get<std::string>().find("hi"),
            std::string::npos);
}

TEST_F(Endpoints, WhatIsWrongIsNamed) {
  const auto error = [&](const json& body) { return ask("/v1/chat/completions", body)["error"]; };
  EXPECT_EQ(error({{"messages", 3}})["param"], "messages");
  EXPECT_EQ(error(json::object())["param"], "messages");
  EXPECT_EQ(error({{"messages", {{{"role", "user"}, {"content", 3}}}}})["param"], "messages[0].content");
  json request = greedy({user("x")});
  request["temperature"] = "hot";
  EXPECT_EQ(error(request)["param"], "temperature");
  EXPECT_EQ(body_of(raw(post("/v1/chat/completions", "{\"messages\":")))["error"]["code"], "invalid_json");
  request = greedy({user("x")});
  request["stop"] = {"a", 1};
  EXPECT_EQ(error(request)["param"], "stop[1]");
  request = greedy({user("x")});
  request["logit_bias"] = {{"99999999", 1}};
  EXPECT_EQ(error(request)["param"], "logit_bias");
  request = greedy({user("x")});
  request["id_slot"] = 77;
  EXPECT_EQ(error(request)["param"], "id_slot");
  std::string words;
  for (int i = 0; i < 3000; ++i) words += " word";
  const json too_long = error(greedy({user(words)}));
  EXPECT_EQ(too_long["code"], "context_length_exceeded");
  EXPECT_EQ(too_long["param"], "messages");
  EXPECT_NE(too_long["message"].get<std::string>().find("--ctx-size"), std::string::npos);
}

TEST_F(Endpoints, ShuttingDownWhileAnswersRunIsClean) {
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<RawClient>(program_.port()));
    clients.back()->send(post(
        "/v1/completions",
        json{{"prompt", "Once"}, {"max_tokens", 400 + 100 * i}, {"ignore_eos", true}, {"stream", i % 2 == 0}}
            .dump()));
  }
  EXPECT_TRUE(server::test::eventually([&] {
    const json slots = body_of(raw(get("/slots")));
    return std::any_of(slots.begin(), slots.end(),
                       [](const json& slot) { return slot["is_processing"] == true; });
  }));
  program_.signal(SIGTERM);
  EXPECT_EQ(program_.wait(), 0);
}

TEST_F(Endpoints, AClientThatLeavesFreesItsSlot) {
  for (const bool streams : {false, true}) {
    RawClient client(program_.port());
    client.send(post(
        "/v1/completions",
        json{{"prompt", "Once"}, {"max_tokens", 1900}, {"ignore_eos", true}, {"stream", streams}}.dump()));
    client.reset();
  }
  const bool is_idle = server::test::eventually([&] {
    const json slots = body_of(raw(get("/slots")));
    return std::none_of(slots.begin(), slots.end(),
                        [](const json& slot) { return slot["is_processing"] == true; });
  });
  EXPECT_TRUE(is_idle);
}

}  // namespace
}  // namespace oxbow::cli
