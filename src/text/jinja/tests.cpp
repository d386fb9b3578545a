#include "text/jinja/tests.h"

#include <algorithm>

#include "text/jinja/characters.h"
#include "text/jinja/operations.h"
#include "text/jinja/print.h"
#include "text/unicode.h"

namespace oxbow::text::jinja {

namespace {

bool is_number(const Value& v) {
  return v.is<bool>() || v.is<int64_t>() || v.is<double>();
}

bool is_sequence(const Value& v) {
  if (const Sequence* items = v.sequence())
    return items->kind == SequenceKind::kList || items->kind == SequenceKind::kTuple ||
           items->kind == SequenceKind::kRange;
  return v.string() != nullptr || v.dict() != nullptr || v.is_undefined();
}

// str.isupper() and str.islower(): cased characters of one case, at least one.
bool has_case(std::string_view text, bool upper) {
  bool any = false;
  while (!text.empty()) {
    const Character c = decode_character(text);
    if (upper ? is_lower(c.code_point) : is_upper(c.code_point)) return false;
    any = any || (upper ? is_upper(c.code_point) : is_lower(c.code_point));
    text.remove_prefix(c.size_bytes);
  }
  return any;
}

template <typename Predicate>
Result<bool> without_arguments(std::string_view name, const Value& value, const Arguments& given,
                               Predicate predicate) {
  OXBOW_TRY(Bound::bind(name, given, {}));
  return predicate(value);
}

Result<bool> case_test(Heap& heap, const Value& value, const Arguments& given, bool upper) {
  OXBOW_TRY(Bound::bind(upper ? "upper" : "lower", given, {}));
  OXBOW_ASSIGN(const std::string text, to_text(heap, value));
  return has_case(text, upper);
}

template <CompareOperator op>
Result<bool> comparison(Heap& heap, const Value& value, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("a comparing test", given, {"other"}, 1));
  return compare(heap, op, value, *bound[0]);
}

Result<bool> divisible(Heap& heap, const Value& value, const Value& by, int64_t remainder) {
  OXBOW_ASSIGN(const Value rest, apply(heap, BinaryOperator::kModulo, value, by));
  return equal(rest, Value(remainder));
}

Result<bool> same(Heap&, const Value& value, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("sameas", given, {"other"}, 1));
  const Value& other = *bound[0];
  if (value.data().index() != other.data().index()) return false;
  if (value.sequence() != nullptr) return value.sequence() == other.sequence();
  if (value.dict() != nullptr) return value.dict() == other.dict();
  return equal(value, other);
}

struct NamedTest {
  std::string_view name;
  Test run;
};

#define OXBOW_TEST(name, expression)                                                                   \
  NamedTest {                                                                                          \
    name, [](Heap&, const Value& value, const Arguments& given) -> Result<bool> {                      \
      return without_arguments(name, value, given, [](const Value& v) -> bool { return expression; }); \
    }                                                                                                  \
  }

const NamedTest kTests[] = {
    OXBOW_TEST("defined", !v.is_undefined()),
    OXBOW_TEST("undefined", v.is_undefined()),
    OXBOW_TEST("none", v.is_none()),
    OXBOW_TEST("boolean", v.is<bool>()),
    OXBOW_TEST("true", v.get<bool>() != nullptr && *v.get<bool>()),
    OXBOW_TEST("false", v.get<bool>() != nullptr && !*v.get<bool>()),
    OXBOW_TEST("integer", v.is<int64_t>()),
    OXBOW_TEST("float", v.is<double>()),
    OXBOW_TEST("number", is_number(v)),
    OXBOW_TEST("string", v.string() != nullptr),
    OXBOW_TEST("mapping", v.dict() != nullptr),
    OXBOW_TEST("iterable", is_iterable(v)),
    OXBOW_TEST("sequence", is_sequence(v)),
    OXBOW_TEST("callable", v.function() != nullptr || v.is_undefined()),
    OXBOW_TEST("escaped", (static_cast<void>(v), false)),
    {"lower", [](Heap& h, const Value& v, const Arguments& a) { return case_test(h, v, a, false); }},
    {"upper", [](Heap& h, const Value& v, const Arguments& a) { return case_test(h, v, a, true); }},
    {"odd", [](Heap& h, const Value& v, const Arguments&) { return divisible(h, v, Value(int64_t{2}), 1); }},
    {"even", [](Heap& h, const Value& v, const Arguments&) { return divisible(h, v, Value(int64_t{2}), 0); }},
    {"divisibleby",
     [](Heap& heap, const Value& value, const Arguments& given) -> Result<bool> {
       OXBOW_ASSIGN(const Bound bound, Bound::bind("divisibleby", given, {"num"}, 1));
       return divisible(heap, value, *bound[0], 0);
     }},
    {"sameas", same},
    {"in", comparison<CompareOperator::kIn>},
    {"eq", comparison<CompareOperator::kEqual>},
    {"equalto", comparison<CompareOperator::kEqual>},
    {"==", comparison<CompareOperator::kEqual>},
    {"ne", comparison<CompareOperator::kNotEqual>},
    {"!=", comparison<CompareOperator::kNotEqual>},
    {"lt", comparison<CompareOperator::kLess>},
    {"lessthan", comparison<CompareOperator::kLess>},
    {"<", comparison<CompareOperator::kLess>},
    {"le", comparison<CompareOperator::kLessEqual>},
    {"<=", comparison<CompareOperator::kLessEqual>},
    {"gt", comparison<CompareOperator::kGreater>},
    {"greaterthan", comparison<CompareOperator::kGreater>},
    {">", comparison<CompareOperator::kGreater>},
    {"ge", comparison<CompareOperator::kGreaterEqual>},
    {">=", comparison<CompareOperator::kGreaterEqual>},
};
#undef OXBOW_TEST

}  // namespace

Test find_test(std::string_view name) {
  const auto* found = std::ranges::find(kTests, name, &NamedTest::name);
  return found != std::end(kTests) ? found->run : nullptr;
}

}  // namespace oxbow::text::jinja
