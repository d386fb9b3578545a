#pragma once
// The parts of JSON texts that grammars are built from. Blank space is bounded everywhere, and so are the
// digits of numbers: an answer cannot go on without saying anything.

#include <string_view>

#include "grammar/expressions.h"

namespace oxbow::grammar {

// Each part is a rule that is added when it is first asked for.
class JsonTexts {
 public:
  // Keeps a reference.
  explicit JsonTexts(Expressions& expressions) : expressions_(expressions) {}

  ExpressionId blanks();     // nothing, a space, or a line break and an indentation
  ExpressionId character();  // one character within a string
  ExpressionId string();
  ExpressionId string(uint32_t min_characters, uint32_t max_characters);
  ExpressionId integer();
  ExpressionId number();
  ExpressionId boolean();
  ExpressionId null();
  ExpressionId value();   // any
  ExpressionId object();  // any
  ExpressionId array();   // any

  // open and close around optional, comma-separated items.
  ExpressionId list(std::string_view open, ExpressionId item, std::string_view close, uint32_t min = 0,
                    uint32_t max = kUnbounded);
  ExpressionId member(ExpressionId key, ExpressionId value);

 private:
  static constexpr ExpressionId kNone = 0xFFFFFFFF;
  ExpressionId once(ExpressionId& kept, const char* name, ExpressionId (JsonTexts::*make)());
  ExpressionId make_blanks();
  ExpressionId make_character();
  ExpressionId make_string();
  ExpressionId make_integer();
  ExpressionId make_number();
  ExpressionId make_object();
  ExpressionId make_array();

  Expressions& expressions_;
  ExpressionId blanks_ = kNone, character_ = kNone, string_ = kNone, integer_ = kNone, number_ = kNone,
               value_ = kNone, object_ = kNone, array_ = kNone;
};

}  // namespace oxbow::grammar
