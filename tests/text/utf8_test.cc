#include "text/utf8.h"

#include <gtest/gtest.h>

#include "text/unicode.h"

namespace tegula::text {
namespace {

const std::string kBad = "\xEF\xBF\xBD";

TEST(Utf8, ReplacesMaximalSubparts) {
  EXPECT_EQ(sanitize_utf8("ok \xC3\xA9"), "ok \xC3\xA9");
  EXPECT_EQ(sanitize_utf8("\x80"), kBad);
  EXPECT_EQ(sanitize_utf8("\xC0\x80"), kBad + kBad);
  EXPECT_EQ(sanitize_utf8("\xE2\x82"
                          "A"),
            kBad + "A");
  EXPECT_EQ(sanitize_utf8("\xF0\x9F\x98"), kBad);
  EXPECT_EQ(sanitize_utf8("\xED\xA0\x80"), kBad + kBad + kBad);
  // The example of the Unicode standard, table 3-8 of section 3.9.
  EXPECT_EQ(sanitize_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), kBad + kBad + kBad + kBad + "A");
}

TEST(Utf8, HoldsBackOnlyWhatCanStillBecomeValid) {
  EXPECT_EQ(complete_utf8_prefix(""), 0u);
  EXPECT_EQ(complete_utf8_prefix("abc"), 3u);
  EXPECT_EQ(complete_utf8_prefix("ab\xF0\x9F\x98"), 2u);
  EXPECT_EQ(complete_utf8_prefix("ab\xF0\x9F\x98\x80"), 6u);
  EXPECT_EQ(complete_utf8_prefix("ab\xC0"), 3u);
  EXPECT_EQ(complete_utf8_prefix("\x80\x80\x80\x80"), 4u);
  EXPECT_EQ(complete_utf8_prefix("\xE2"), 0u);
  EXPECT_EQ(complete_utf8_prefix("\xE0\x80"), 2u);
}

TEST(Utf8, EncodesEveryLength) {
  for (const u32 c : {0x41u, 0x7FFu, 0xFFFDu, 0x10FFFFu}) {
    std::string text;
    append_utf8(text, c);
    const Decoded d = decode_utf8(text);
    EXPECT_TRUE(d.valid);
    EXPECT_EQ(d.code_point, c);
    EXPECT_EQ(d.length, text.size());
  }
}

TEST(Unicode, ClassesOfKnownCharacters) {
  EXPECT_EQ(unicode_class('a'), kLetter);
  EXPECT_EQ(unicode_class('7'), kNumber | kNumeric);
  EXPECT_EQ(unicode_class(' '), kSpace);
  EXPECT_EQ(unicode_class('!'), kPunctuation | kBertPunctuation);
  EXPECT_EQ(unicode_class('$'), kBertPunctuation);
  EXPECT_EQ(unicode_class(0x301), kBertMark);
  EXPECT_EQ(unicode_class(0x200D), kBertRemoved);
  EXPECT_EQ(unicode_class(0x110000), 0);
}

TEST(Unicode, LowersAndNormalizes) {
  std::string lower;
  for (const u32 c : {0x41u, 0x130u, 0x3A3u, 0x10D50u}) append_lower(lower, c);
  EXPECT_EQ(lower, "ai\u0307\u03C3\U00010D70");
  EXPECT_EQ(to_nfc("e\u0301"), "\u00E9");
  EXPECT_EQ(to_nfd("\u00E9"), "e\u0301");
  EXPECT_EQ(to_nfc(std::string_view("a\0b", 3)), std::string("a\0b", 3));
}

}  // namespace
}  // namespace tegula::text
