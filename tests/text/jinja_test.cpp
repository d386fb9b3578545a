#include "text/jinja_support.h"

namespace oxbow::text::testing {
namespace {

const ordered_json kVariables = ordered_json::parse(R"({
  "s": "Grüße", "n": 7, "f": 0.5, "yes": true, "nothing": null, "list": [3, 1, 2],
  "dict": {"b": 1, "a": [true, null, "it's"]},
  "people": [{"name": "Ann", "age": 30}, {"name": "bob", "age": 25}, {"name": "Cid"}]
})");

std::string with_variables(std::string_view source) {
  return rendered(source, kVariables);
}

TEST(Jinja, WritesValuesAsPythonDoes) {
  EXPECT_EQ(rendered("{{ true }} {{ none }} {{ 1.0 }} {{ 1e16 }} {{ 0.00001 }} {{ 1e15 }} {{ -0.0 }}"),
            "True None 1.0 1e+16 1e-05 1000000000000000.0 -0.0");
  EXPECT_EQ(with_variables("{{ dict }} {{ list }} {{ (1,) }} {{ ['a\\n', \"d'q\"] }}"),
            R"({'b': 1, 'a': [True, None, "it's"]} [3, 1, 2] (1,) ['a\n', "d'q"])");
  EXPECT_EQ(with_variables("{{ missing }}|{{ dict.missing }}|{{ dict.keys() }}|{{ range(2) }}"),
            "||dict_keys(['b', 'a'])|range(0, 2)");
}

TEST(Jinja, WritesJsonWithItsOrderAndAllCharacters) {
  EXPECT_EQ(
      with_variables("{{ dict | tojson }} {{ s | tojson }} {{ '<&>\"\\n' | tojson }} {{ 1.0 | tojson }}"),
      R"({"b": 1, "a": [true, null, "it's"]} "Grüße" "<&>\"\n" 1.0)");
  EXPECT_EQ(with_variables("{{ {'a': [1, {}]} | tojson(indent=2) }}"),
            "{\n  \"a\": [\n    1,\n    {}\n  ]\n}");
  EXPECT_EQ(with_variables("{{ s | tojson(ensure_ascii=true) }}"), R"("Gr\u00fc\u00dfe")");
}

TEST(Jinja, CountsWithWholeNumbersAndFloatsAsPythonDoes) {
  EXPECT_EQ(
      rendered(
          "{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 6 / 2 }} {{ 2 ** -1 }} {{ 1 + true }}"),
      "3 -4 2 -2 3.0 0.5 2");
  EXPECT_EQ(rendered("{{ 9223372036854775807 + 1 }}"),
            "error: chat template: line 1: an integer does not fit 64 bits");
  EXPECT_EQ(rendered("a\n{{ 1 // 0 }}"), "error: chat template: line 2: division by zero");
}

TEST(Jinja, ComparesChainsAndMixedNumbers) {
  EXPECT_EQ(
      rendered("{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 == true }} {{ 'a' == 1 }} {{ [1, 2] < [1, 3] }}"),
      "True False True False True");
  EXPECT_EQ(with_variables("{{ 'üß' in s }} {{ 9 not in list }} {{ 'b' in dict }} {{ not 1 in list }}"),
            "True True True False");
}

TEST(Jinja, StripsWhiteSpaceAroundTagsAsModelFilesExpect) {
  EXPECT_EQ(rendered("a\n  {% if true %}\nb\n  {% endif %}\nc\n"), "a\nb\nc");
  EXPECT_EQ(rendered("a \n {%- if true -%} \n b {%- endif +%}\nc"), "ab\nc");
  EXPECT_EQ(rendered("  {{ 1 }}\n{{ 2 -}}  \n 3{# note #}\n4"), "  1\n234");
  EXPECT_EQ(rendered("  {%+ if true %}x{% endif %}"), "  x");
  EXPECT_EQ(rendered("a\r\n{% set x = 1 %}\r\nb\r\n"), "a\nb");
}

TEST(Jinja, LeavesRawBlocksAsTheyAre) {
  EXPECT_EQ(rendered("{% raw %}{{ x }} {% y %}{% endraw %}"), "{{ x }} {% y %}");
  EXPECT_EQ(rendered("x\n{% raw %}\n {{ y }}\n{% endraw %}\nz"), "x\n\n {{ y }}\nz");
  EXPECT_EQ(rendered("{% raw -%}  y  {%- endraw %} z"), "y z");
}

TEST(Jinja, LoopsKnowWhereTheyAre) {
  EXPECT_EQ(
      with_variables("{% for x in list %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.first }}"
                     "{{ loop.last }}{{ loop.length }}{{ loop.previtem }}/{{ loop.nextitem }} {% endfor %}"),
      "103TrueFalse3/1 212FalseFalse33/2 321FalseTrue31/ ");
  EXPECT_EQ(with_variables("{% for k, v in dict.items() %}{{ k }}={{ v }};{% endfor %}"),
            "b=1;a=[True, None, \"it's\"];");
  EXPECT_EQ(with_variables("{% for x in list if x > 1 %}{{ x }}{{ loop.last }}{% else %}no{% endfor %}"),
            "3False2True");
  EXPECT_EQ(
      rendered(
          "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% elif i == 4 %}{% break %}{% endif %}{{ i }}"
          "{% endfor %}"),
      "023");
}

TEST(Jinja, OnlyRecursiveLoopsHaveADepth) {
  EXPECT_EQ(
      rendered(
          "{% for i in [1] %}{% for j in [1] %}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}{% endfor %}"),
      "10");
  const ordered_json tree =
      ordered_json::parse(R"({"t": [{"n": "a", "c": [{"n": "b", "c": [{"n": "c"}]}, {"n": "d"}]}]})");
  EXPECT_EQ(
      rendered("{% for x in t recursive %}{{ x.n }}{{ loop.depth }}({{ loop(x.c) }}){% endfor %}", tree),
      "a1(b2(c3())d2())");
  EXPECT_EQ(rendered("{% for i in [1] %}{{ loop([2]) }}{% endfor %}"),
            "error: chat template: line 1: 'loop' can be called inside of a recursive loop only");
}

TEST(Jinja, VariablesOfALoopStayInsideAndNamespacesCarryThemOut) {
  EXPECT_EQ(with_variables("{% set a = 1 %}{% for x in list %}{% set a = a + x %}{% endfor %}{{ a }}"), "1");
  EXPECT_EQ(
      with_variables(
          "{% set ns = namespace(a=1) %}{% for x in list %}{% set ns.a = ns.a + x %}{% endfor %}{{ ns.a }}"),
      "7");
}

TEST(Jinja, MacrosHaveDefaultsNamesAndCallers) {
  EXPECT_EQ(rendered("{% macro m(a, b=2, c=a) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ m(1) }}{{ m(b=1, "
                     "a=3) }}{{ m() }}"),
            "[121][313][2]");
  EXPECT_EQ(
      rendered("{% macro m() %}<{{ caller(1) }}>{% endmacro %}{% call(x) m() %}body {{ x }}{% endcall %}"),
      "<body 1>");
}

TEST(Jinja, StringMethodsCountCodePoints) {
  EXPECT_EQ(with_variables("{{ s[2] }} {{ s[-3:] }} {{ s[::-1] }} {{ s | length }} {{ s.find('e') }}"),
            "ü üße eßürG 5 4");
  EXPECT_EQ(rendered("{{ ' a  b '.split() }}{{ 'a,b,,c'.split(',') }}{{ 'xxaxx'.strip('x') }}{{ 'a b "
                     "c'.rsplit(' ', 1) }}"),
            "['a', 'b']['a', 'b', '', 'c']a['a b', 'c']");
  EXPECT_EQ(
      rendered(
          "{{ '</think>answer'.split('</think>')[-1].lstrip('\\n') }} {{ 'abc'.startswith(('x', 'ab')) }}"),
      "answer True");
}

TEST(Jinja, FiltersWorkOnSequences) {
  EXPECT_EQ(
      with_variables("{{ people | selectattr('age', 'defined') | map(attribute='name') | join(', ') }}"),
      "Ann, bob");
  EXPECT_EQ(with_variables("{{ people | sort(attribute='name') | map(attribute='name') | list }} {{ list | "
                           "sort(reverse=true) }}"),
            "['Ann', 'bob', 'Cid'] [3, 2, 1]");
  EXPECT_EQ(with_variables("{{ list | reject('odd') | list }} {{ list | sum }} {{ [1, 1, 2] | unique | list "
                           "}} {{ dict | dictsort }}"),
            "[2] 6 [1, 2] [('a', [True, None, \"it's\"]), ('b', 1)]");
  EXPECT_EQ(
      rendered(
          "{{ 'a\nb' | indent(2) }} {{ 'one two' | title }} {{ ' x ' | trim }} {{ missing | default('z') }}"),
      "a\n  b One Two x z");
}

TEST(Jinja, TestsTellTypesApart) {
  EXPECT_EQ(
      with_variables(
          "{{ s is string }}{{ dict is mapping }}{{ list is iterable }}{{ n is number }}{{ yes is true }}"
          "{{ nothing is none }}{{ missing is defined }}{{ s is sequence }}{{ n is odd }}{{ 4 is divisibleby "
          "2 }}"),
      "TrueTrueTrueTrueTrueTrueFalseTrueTrueTrue");
}

TEST(Jinja, ReadingAnAttributeOfSomethingUndefinedIsAnError) {
  EXPECT_EQ(rendered("x\n\n{{ a.b }}"), "error: chat template: line 3: 'a' is undefined");
  EXPECT_EQ(with_variables("{{ dict.c.d }}"), "error: chat template: line 1: 'dict' has no attribute 'c'");
}

TEST(Jinja, NothingThatIsSharedCanBeChanged) {
  for (const char* source :
       {"{{ list.append(1) }}", "{{ dict.update({}) }}", "{{ list.pop() }}", "{{ dict.clear() }}"})
    EXPECT_EQ(with_variables(source),
              "error: chat template: line 1: lists and dicts cannot be changed by a template");
  EXPECT_TRUE(rendered("{% set ''.x = 1 %}").starts_with("error: "));
}

TEST(Jinja, PythonsInsidesAreOutOfReach) {
  for (const char* source :
       {"{{ ''.__class__ }}", "{{ s.__init__ }}", "{{ dict.__getitem__ }}", "{{ range.__globals__ }}"})
    EXPECT_EQ(with_variables(source), "") << source;
  EXPECT_TRUE(with_variables("{{ ''.__class__.__mro__ }}").starts_with("error: "));
}

TEST(Jinja, SyntaxErrorsNameTheLineAndWhatWasExpected) {
  const auto fails = [](std::string_view source) {
    const auto parsed = ChatTemplate::parse(source);
    return parsed ? std::string("parsed") : parsed.error().message;
  };
  EXPECT_EQ(fails("a\n{% if %}{% endif %}"), "chat template: line 2: expected an expression, found '%}'");
  EXPECT_EQ(fails("\n\n{{ 'x }}"), "chat template: line 3: a string does not end");
  EXPECT_EQ(fails("{% if x %}"), "chat template: line 1: expected 'endif', found the end of the template");
  EXPECT_EQ(fails("{% nope %}"), "chat template: line 1: unknown tag 'nope'");
  EXPECT_EQ(fails("{{ x | nope }}"), "chat template: line 1: there is no filter 'nope'");
  EXPECT_EQ(fails("{{ x is nope }}"), "chat template: line 1: there is no test 'nope'");
  EXPECT_EQ(fails("{% include 'x' %}"), "chat template: line 1: 'include' is not supported");
  EXPECT_EQ(fails("{{ [1, 2 }}"), "chat template: line 1: unexpected '}', expected ']'");
  EXPECT_EQ(fails("{# open"), "chat template: line 1: a comment does not end");
  EXPECT_EQ(fails("\xFF"), "chat template: the template is not UTF-8 at byte 0");
}

TEST(Jinja, BytesThatAreNoUtf8BecomeReplacementCharacters) {
  ordered_json variables;
  variables["x"] = "a\xFF\xC3";
  EXPECT_EQ(rendered("{{ x }}{{ x | length }}", variables), "a\uFFFD\uFFFD3");
}

}  // namespace
}  // namespace oxbow::text::testing
