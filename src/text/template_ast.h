// The syntax tree of a chat template, what the parser makes and the renderer walks. Internal to src/text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace tegula::text::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

enum class ExpressionKind {
  kNone,         // the literal
  kBool,         // number: 0 or 1
  kInteger,      // number
  kString,       // text
  kName,         // text
  kList,         // children (tuples too)
  kDict,         // children: key, value, key, value ...
  kAttribute,    // children[0] . text
  kIndex,        // children[0] [ children[1] ]
  kSlice,        // children[0] [ children[1] : children[2] : children[3] ], the last three may be null
  kCall,         // children[0] ( children[1..] )
  kFilter,       // children[0] | text ( children[1..] )
  kTest,         // children[0] is text children[1..]
  kNot,          // children[0]
  kNegate,       // - children[0]
  kAnd,          // children[0], children[1]
  kOr,           // the same
  kBinary,       // children[0] text children[1], text one of + - * // % ~
  kCompare,      // children[0] operators[0] children[1] operators[1] children[2] ...
  kConditional,  // children[0] if children[1] else children[2], which may be null
};

struct Expression {
  ExpressionKind kind = ExpressionKind::kNone;
  u32 line = 0;
  std::string text;
  i64 number = 0;
  std::vector<ExpressionPtr> children;
  std::vector<std::string> operators;  // kCompare: == != < <= > >= in "not in"
  std::vector<std::string> keywords;   // kCall, kFilter: names of the last children
};

struct Statement;
using Block = std::vector<Statement>;

enum class StatementKind { kText, kOutput, kIf, kFor, kSet, kSetBlock, kBreak, kContinue };

struct Statement {
  StatementKind kind = StatementKind::kText;
  u32 line = 0;
  std::string text;  // kText
  std::vector<std::string>
      targets;           // kFor, kSet: names; one "object.member" in kSet sets a member of a namespace
  ExpressionPtr value;   // kOutput, kSet; kFor: what to walk
  ExpressionPtr filter;  // kFor: the `if` after it, may be null
  std::vector<ExpressionPtr> tests;  // kIf: one for each branch; a last branch without one is `else`
  std::vector<Block> blocks;         // kIf: branches; kFor: body and `else`; kSetBlock: body
};

// Errors give the line: kCorrupt for broken syntax, kUnsupported for what we lack, by name.
Result<Block> parse_template(std::string_view source);

}  // namespace tegula::text::jinja
