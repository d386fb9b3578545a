#include "grammar/json_schema.h"

#include <nlohmann/json.hpp>

#include "grammar/json_texts.h"

namespace oxbow::grammar {

Result<Expressions> schema_expressions(const nlohmann::ordered_json&) {
  return fail(ErrorKind::kUnsupported, "schemas are not supported");
}

Result<Expressions> json_object_expressions() {
  Expressions expressions;
  const RuleId root = expressions.add_rule("root");
  JsonTexts json(expressions);
  expressions.define(root, json.object());
  return expressions;
}

}  // namespace oxbow::grammar
