// Classes of code points as the reference tokenizer library sees them, normalisation forms and lower-casing.
//
// The class table is generated from the reference (tools/golden/unicode_classes.py), because its parts follow
// different versions of Unicode. Normalisation is utf8proc's (Unicode 15); it differs from the reference in
// the order of about a hundred marks that were added to Unicode after 2018.
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace tegula::text {

// Bits of the class mask.
enum UnicodeClass : u8 {
  kLetter = 1,            // \p{L} of the reference's regular expressions
  kNumber = 2,            // \p{N} of the same
  kNumeric = 4,           // what the Digits pre-tokenizer isolates (a few more than kNumber)
  kPunctuation = 8,       // \p{P}
  kBertPunctuation = 16,  // what the BERT pre-tokenizer isolates
  kBertRemoved = 32,      // control and format characters that the BERT normalizer drops
  kBertMark = 64,         // non-spacing marks that "strip accents" drops
  kSpace = 128,           // \s
};

u8 unicode_class(u32 code_point);

// CJK ideographs around which the BERT normalizer puts spaces.
bool is_bert_ideograph(u32 code_point);

// Appends the lower-case form (two code points for U+0130).
void append_lower(std::string& out, u32 code_point);

// Appends the upper-case form, where that is a single code point.
void append_upper(std::string& out, u32 code_point);

// Both need valid UTF-8.
std::string to_nfc(std::string_view text);
std::string to_nfd(std::string_view text);

}  // namespace tegula::text
