// What a hostile template may cost: every one must end in an error or in bounded work, on a small stack.

#include <chrono>
#include <thread>

#include "text/jinja_support.h"

namespace oxbow::text::testing {
namespace {

bool names(const Result<std::string>& result, ErrorKind kind, std::string_view part) {
  return !result && result.error().kind == kind && result.error().message.find(part) != std::string::npos;
}

#define EXPECT_REFUSED(source, kind, part)                                    \
  do {                                                                        \
    const auto refused = render_template(source);                             \
    EXPECT_TRUE(names(refused, kind, part)) << shown(refused).substr(0, 300); \
  } while (false)

TEST(JinjaLimits, StepsEndLoopsThatWouldTakeForever) {
  EXPECT_REFUSED(
      "{% for a in range(99999) %}{% for b in range(99999) %}{% set x = a %}{% endfor %}{% endfor %}",
      ErrorKind::kOutOfBudget, "steps");
  EXPECT_REFUSED("{% for a in range(99999) %}{% for b in range(99999) if false %}{% endfor %}{% endfor %}",
                 ErrorKind::kOutOfBudget, "steps");
  EXPECT_REFUSED(
      "{% set x = range(99999) | list %}{% for a in x %}{{ x == x }}{{ (x + x) | length }}{% endfor %}",
      ErrorKind::kOutOfBudget, "");
  EXPECT_REFUSED("{% set x = 'ab' * 4000000 %}{% for a in range(99999) %}{{ 'c' in x }}{% endfor %}",
                 ErrorKind::kOutOfBudget, "steps");
}

TEST(JinjaLimits, TheOutputIsBounded) {
  EXPECT_REFUSED("{% set x = 'a' * 10000000 %}{{ x }}{{ x }}", ErrorKind::kOutOfBudget,
                 "the output is longer than");
}

TEST(JinjaLimits, StringsAreBounded) {
  EXPECT_REFUSED("{{ 'a' * 99999999999 }}", ErrorKind::kOutOfBudget, "string");
  EXPECT_REFUSED("{{ 9223372036854775807 * 'ab' }}", ErrorKind::kOutOfBudget, "string");
  EXPECT_REFUSED("{% set x = 'a' * 9000000 %}{{ x ~ x }}", ErrorKind::kOutOfBudget, "string");
  EXPECT_REFUSED("{% set x = 'a' * 9000 %}{{ x | replace('a', x) }}", ErrorKind::kOutOfBudget, "string");
  EXPECT_REFUSED("{{ (['a' * 9000000] * 9) | join }}", ErrorKind::kOutOfBudget, "string");
  EXPECT_REFUSED("{{ ['a'] * 9 | int * 999999999 }}", ErrorKind::kOutOfBudget, "");
  EXPECT_REFUSED("{{ 'x'.center(99999999999) }}", ErrorKind::kOutOfBudget, "string");
  EXPECT_REFUSED("{% set x = ('a\\n' * 8000000) %}{{ x | indent(900) }}", ErrorKind::kOutOfBudget, "string");
}

TEST(JinjaLimits, MemoryThatIsAliveIsBounded) {
  jinja::Limits limits;
  limits.live_bytes = size_t{8} << 20;
  for (const char* source :
       {"{% set ns = namespace(l=[]) %}{% for i in range(99) %}{% set ns.l = ns.l + [('a' ~ i) * 100000] "
        "%}{% endfor %}",
        "{% set ns = namespace(l=[0]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
        "{{ range(99999) | map('string') | batch(1) | map('list') | list | length }}",
        "{% set ns = namespace(d={}) %}{% for i in range(9999) %}{% set ns.d = dict(ns.d, **{'k' ~ i: 'a' * "
        "9999}) %}"
        "{% endfor %}",
        "{% macro m(x) %}{{ m(x ~ x) }}{% endmacro %}{{ m('aaaaaaaa') }}"}) {
    const auto result = render_template(source, ordered_json::object(), limits);
    EXPECT_TRUE(names(result, ErrorKind::kOutOfBudget, "")) << source << shown(result).substr(0, 200);
  }
}

TEST(JinjaLimits, RangesAreBounded) {
  EXPECT_REFUSED("{{ range(100001) | length }}", ErrorKind::kOutOfBudget, "range");
  EXPECT_EQ(rendered("{{ range(100000) | length }}"), "100000");
  EXPECT_EQ(
      rendered("{{ range(-9223372036854775807, 9223372036854775807, 9223372036854775807) | list | length }}"),
      "2");
}

TEST(JinjaLimits, TemplatesAreBounded) {
  EXPECT_REFUSED(std::string((size_t{1} << 20) + 1, 'a'), ErrorKind::kOutOfBudget, "longer than");
}

TEST(JinjaLimits, SyntaxThatNestsTooDeepIsRefusedOnASmallStack) {
  const std::pair<const char*, const char*> kNests[] = {
      {"(", ")"},    {"[", "]"},    {"{1:", "}"},    {"not ", ""},         {"-", ""},
      {"f(", ")"},   {"f(a=", ")"}, {"f(*", ")"},    {"1 if ", " else 2"}, {"1 if 1 else ", ""},
      {"x[", "]"},   {"x[:", "]"},  {"x | f(", ")"}, {"x is f(", ")"},     {"x is eq ", ""},
      {"1 ~ (", ")"}};
  on_small_stack([&] {
    for (const auto& [open, close] : kNests) {
      for (const size_t depth : {size_t{150}, size_t{210}, size_t{20000}}) {
        const auto result =
            render_template("{{ " + repeated(open, depth) + "1" + repeated(close, depth) + " }}");
        EXPECT_TRUE(depth < 200 || !result) << open << depth;
      }
    }
  });
}

TEST(JinjaLimits, ChainsAreBoundedOnASmallStack) {
  const char* const kLinks[] = {"| trim ", "| default(1) ", ".a",    "[0]",    "()",
                                "(1)",     " + 1",          " * 1",  " and 1", " or 1",
                                " ~ 'a'",  " ** 1",         " if 1", " < 1",   " is defined",
                                " in x",   " if 1 else 1",  " 'a'",  "[1:]",   " not in x"};
  on_small_stack([&] {
    for (const char* link : kLinks)
      for (const size_t count : {size_t{199}, size_t{50000}})
        (void)render_template("{{ 'a'" + repeated(link, count) + " }}");
  });
}

TEST(JinjaLimits, BlocksThatNestTooDeepAreRefusedOnASmallStack) {
  const std::pair<const char*, const char*> kBlocks[] = {
      {"{% if 1 %}", "{% endif %}"},          {"{% for x in [1] %}", "{% endfor %}"},
      {"{% with %}", "{% endwith %}"},        {"{% filter trim %}", "{% endfilter %}"},
      {"{% set x %}", "{% endset %}"},        {"{% macro m() %}", "{% endmacro %}"},
      {"{% call m() %}", "{% endcall %}"},    {"{% generation %}", "{% endgeneration %}"},
      {"{% if 0 %}{% else %}", "{% endif %}"}};
  on_small_stack([&] {
    for (const auto& [open, close] : kBlocks) {
      (void)render_template(repeated(open, 190) + "a" + repeated(close, 190));
      EXPECT_FALSE(render_template(repeated(open, 20000) + "a" + repeated(close, 20000))) << open;
    }
    EXPECT_TRUE(ChatTemplate::parse("{% if 0 %}" + repeated("{% elif 1 %}", 20000) + "{% endif %}"));
    EXPECT_FALSE(
        ChatTemplate::parse("{% for " + repeated("(", 20000) + "a" + repeated(")", 20000) + " in x %}"));
  });
}

TEST(JinjaLimits, MacrosThatCallThemselvesEndOnASmallStack) {
  on_small_stack([] {
    EXPECT_REFUSED("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", ErrorKind::kOutOfBudget, "deep");
    EXPECT_REFUSED("{% macro m(x) %}{{ [[[m(x ~ 'a')]]] | map('upper') | join }}{% endmacro %}{{ m('') }}",
                   ErrorKind::kOutOfBudget, "deep");
    EXPECT_REFUSED(
        "{% macro m() %}{% if 1 %}{% for i in [1] %}{% filter trim %}{% set x %}{{ m() }}{% endset %}"
        "{% endfilter %}{% endfor %}{% endif %}{% endmacro %}{{ m() }}",
        ErrorKind::kOutOfBudget, "deep");
    EXPECT_REFUSED("{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}",
                   ErrorKind::kOutOfBudget, "deep");
    EXPECT_REFUSED("{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
                   ErrorKind::kOutOfBudget, "deep");
    EXPECT_REFUSED("{% macro m(f, x=f(f)) %}{% endmacro %}{{ m(m) }}", ErrorKind::kOutOfBudget, "deep");
    EXPECT_REFUSED("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", ErrorKind::kOutOfBudget,
                   "deep");
    EXPECT_REFUSED("{% for x in [1] recursive %}{{ loop([loop]) }}{% endfor %}", ErrorKind::kOutOfBudget,
                   "deep");
    EXPECT_REFUSED(
        "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{{ m(caller=caller) }}{% endcall %}",
        ErrorKind::kInvalidInput, "");
  });
}

TEST(JinjaLimits, ALoopsFilterThatAsksTheLoopEndsOnASmallStack) {
  on_small_stack([] {
    (void)render_template("{% for x in [1, 2, 3] if loop.last %}{{ x }}{% endfor %}");
    (void)render_template(
        "{% set ns = namespace(l=none) %}{% for x in range(99999) if ns.l is none or ns.l.last %}"
        "{% set ns.l = loop %}{{ x }}{% endfor %}");
    (void)render_template(
        "{% set ns = namespace(l=none) %}{% for x in range(99999) if ns.l is none or ns.l.length %}"
        "{% set ns.l = loop %}{{ loop.last }}{% endfor %}");
  });
}

TEST(JinjaLimits, ValuesThatNestTooDeepAreRefusedOnASmallStack) {
  on_small_stack([] {
    EXPECT_REFUSED(
        "{% set ns = namespace(x=[]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x "
        "}}",
        ErrorKind::kOutOfBudget, "nested");
    EXPECT_REFUSED(
        "{% set ns = namespace(x={}) %}{% for i in range(9999) %}{% set ns.x = {1: ns.x} %}{% endfor %}",
        ErrorKind::kOutOfBudget, "nested");
    EXPECT_REFUSED(
        "{% set ns = namespace(x=[]) %}{% for i in range(9999) %}{% set ns.x = [ns.x.copy] %}{% endfor %}",
        ErrorKind::kOutOfBudget, "nested");
    ordered_json deep = 1;
    for (int i = 0; i < 200; ++i) deep = ordered_json::array({std::move(deep)});
    const auto result = render_template("{{ x }}", {{"x", deep}});
    EXPECT_TRUE(names(result, ErrorKind::kOutOfBudget, "nested")) << shown(result);
  });
}

TEST(JinjaLimits, ValuesThatShareTheirPartsCostWhatTheyLookLike) {
  // 2^60 leaves, 60 lists.
  const std::string doubled =
      "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}";
  for (const char* use :
       {"{{ ns.x }}", "{{ ns.x == ns.x }}{{ [ns.x] == [ns.x] }}{{ ns.x in [[ns.x]] }}", "{{ ns.x | tojson }}",
        "{{ {(ns.x,): 1} }}", "{{ [ns.x, ns.x] | unique | list }}", "{{ ns.x < [ns.x] }}"}) {
    const auto start = std::chrono::steady_clock::now();
    (void)render_template(doubled + use);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60)) << use;
  }
}

TEST(JinjaLimits, CyclesThroughNamespacesAreFreedAndPrinted) {
  EXPECT_EQ(
      rendered("{% set ns = namespace() %}{% set ns.me = ns %}{% set ns.list = [ns] %}{{ ns }}{{ ns.list }}"),
      "<Namespace>[<Namespace>]");
  EXPECT_EQ(
      rendered(
          "{% set ns = namespace() %}{% for x in [1] %}{% set ns.l = loop %}{% endfor %}{{ ns.l.index }}"),
      "1");
}

TEST(JinjaLimits, WhatEscapesItsScopeCannotDangle) {
  EXPECT_TRUE(
      rendered("{% set ns = namespace() %}{% if true %}{% for i in [1] %}{% macro m() %}{{ i }}{% endmacro %}"
               "{% set ns.m = m %}{% endfor %}{% endif %}{{ ns.m() }}")
          .starts_with("error: "));
  EXPECT_TRUE(rendered("{% set ns = namespace() %}{% for i in [1] recursive %}{% set ns.l = loop %}{% endfor "
                       "%}{{ ns.l([1]) }}")
                  .starts_with("error: "));
  EXPECT_EQ(rendered("{% set ns = namespace() %}{% for i in [1] %}{% set ns.c = loop.cycle %}{% endfor %}{{ "
                     "ns.c('a') }}"),
            "a");
}

TEST(JinjaLimits, FormatsCannotAskForMegabytes) {
  EXPECT_TRUE(rendered("{{ '%99999999d' % 1 }}").starts_with("error: "));
  EXPECT_TRUE(rendered("{{ '%.99999999f' % 1.5 }}").starts_with("error: "));
  EXPECT_TRUE(rendered("{{ '%1' % 1 }}").starts_with("error: "));
  EXPECT_TRUE(rendered("{{ strftime_now('%99999d') }}").starts_with("error: "));
}

TEST(JinjaLimits, OddNumbersDoNoHarm) {
  for (const char* source : {"{{ -9223372036854775807 - 1 }}",
                             "{{ (-9223372036854775807 - 1) // -1 }}",
                             "{{ (-9223372036854775807 - 1) % -1 }}",
                             "{{ -(-9223372036854775807 - 1) }}",
                             "{{ (-9223372036854775807 - 1) | abs }}",
                             "{{ 2 ** 9223372036854775807 }}",
                             "{{ 1e308 * 10 }}",
                             "{{ (1e308 * 10) | int }}",
                             "{{ (1e308 * 10 - 1e308 * 10) | int }}",
                             "{{ 'abc'[9223372036854775807:] }}",
                             "{{ 'abc'[:-9223372036854775807:-9223372036854775807] }}",
                             "{{ [1, 2, 3][::-9223372036854775807 - 1] }}",
                             "{{ 1.5 | round(99999999) }}",
                             "{{ 1.5 | round(-99999999) }}",
                             "{{ 1.5 | round(999, 'ceil') }}",
                             "{{ 5 | round(-9223372036854775807 - 1) }}",
                             "{{ 1e18 * 1e300 // 0.1 }}",
                             "{{ 'x' | int(0, 99) }}",
                             "{{ 'z' * -5 }}",
                             "{{ 'a'.split(none, -9223372036854775807) }}",
                             "{{ 'a a a'.rsplit(none, 9223372036854775807) }}",
                             "{{ 'a'.replace('', 'b', 9223372036854775807) }}",
                             "{{ range(9223372036854775807, 9223372036854775806, -1) }}",
                             "{{ range(5) | batch(99999999999) | list }}",
                             "{{ 'a'.center(-9223372036854775807) }}",
                             "{{ 'a' | indent(-5) }}",
                             "{{ 1e300 % 1e-300 }}",
                             "{{ '%d' % 1e300 }}",
                             "{{ '%x' % -1 }}",
                             "{{ (0.0 / 1) ** -1 }}",
                             "{{ -7 ** 0.5 }}"})
    (void)rendered(source);
}

}  // namespace
}  // namespace oxbow::text::testing
