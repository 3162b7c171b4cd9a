// The HTML page: its structure, and what headless Chromium makes of it. Chromium is part of scripts/setup;
// without it these tests fail.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "cli/inspect/inspect.h"
#include "cli/worked_examples.h"
#include "temporary.h"

namespace tegula::cli {
namespace {

size_t count(const std::string& text, const std::string& what) {
  size_t out = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++out;
  return out;
}

std::string page() {
  const Bytes file = test::xclbin_of(test::example1(test::program_of({"mova r9, #47"}, 2016)).commands());
  const Bytes stream = test::example1_stream();
  std::vector<Artifact> artifacts;
  for (const auto& [bytes, name] : {std::pair(&file, "a <b> & \"c\""), std::pair(&stream, "stream.bin")}) {
    Result<Artifact> artifact = inspect_bytes(*bytes, name);
    EXPECT_TRUE(artifact.ok());
    if (artifact.ok()) artifacts.push_back(std::move(*artifact));
  }
  return to_html(artifacts);
}

struct Browser {
  int status = -1;
  std::string out;
};

// Chromium with a profile of its own; the network is off by a proxy that does not exist.
Browser chromium(const std::string& arguments) {
  const std::string profile = temporary("tegula_page_profile");
  const std::string command =
      "chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --proxy-server=127.0.0.1:9 "
      "--user-data-dir=" +
      profile + " " + arguments + " 2>/dev/null";
  Browser out;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  char buffer[65536];
  for (size_t n = 0; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) != 0;) out.out.append(buffer, n);
  const int status = ::pclose(pipe);
  out.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::filesystem::remove_all(profile);
  return out;
}

std::string write_page(const std::string& name, const std::string& text) {
  const std::string path = temporary(name);
  EXPECT_TRUE(write_file(path, {reinterpret_cast<const u8*>(text.data()), text.size()}).ok());
  return path;
}

TEST(Page, NeedsNothingFromOutside) {
  const std::string text = page();
  for (const char* what : {"http://", "https://", "src=", "href=", "@import", "url(//", "fetch("})
    EXPECT_EQ(count(text, what), 0u) << what;
  EXPECT_EQ(count(text, "a &lt;b&gt; &amp; &quot;c&quot;"), 1u);
}

TEST(Page, ElementsInTheBrowser) {
  const std::string path = write_page("tegula_page.html", page());
  const Browser dom = chromium("--dump-dom file://" + path);
  ASSERT_EQ(dom.status, 0) << "chromium did not run; scripts/setup installs it";
  EXPECT_EQ(count(dom.out, "class=\"tile\""), 48u);
  EXPECT_EQ(count(dom.out, "<path class=\"route\""), 68u);
  EXPECT_EQ(count(dom.out, "class=\"stream\""), 13u);
  EXPECT_EQ(count(dom.out, "class=\"setup\""), 48u);
  EXPECT_EQ(count(dom.out, "class=\"memory\""), 3u);  // program and data of the cores, data of the mem tiles
  EXPECT_EQ(count(dom.out, "class=\"bd\""), 584u);
  EXPECT_EQ(count(dom.out, "class=\"wait\""), 584u);
  EXPECT_EQ(count(dom.out, "<tr><td>"), 3u);
  EXPECT_EQ(count(dom.out, "hsl(205,70%,82%)"), 34u);  // 32 cores, legend, program memory
  EXPECT_NE(dom.out.find("mem (c,1) MM2S0 -&gt; S2MM1 of core (c,2-5), c = 0-7"), std::string::npos);
}

TEST(Page, AClickPicksAStreamAndATile) {
  std::string text = page();
  const std::string click =
      "<script>document.querySelectorAll('.stream')[7].click();"
      "document.querySelector('.tile[data-tile=\"3,4\"]').dispatchEvent(new Event('click'));</script></body>";
  text.replace(text.find("</body>"), 7, click);
  const Browser dom = chromium("--dump-dom file://" + write_page("tegula_page_click.html", text));
  ASSERT_EQ(dom.status, 0) << "chromium did not run; scripts/setup installs it";
  EXPECT_EQ(count(dom.out, "class=\"stream on\""), 1u);
  EXPECT_EQ(count(dom.out, "<path class=\"route on\""), 8u);     // one stream for each column
  EXPECT_EQ(count(dom.out, "<circle class=\"route on\""), 32u);  // to four cores each
  EXPECT_EQ(count(dom.out, "class=\"grid picking\""), 1u);
  EXPECT_EQ(count(dom.out, "class=\"tile on\" data-tile=\"3,4\""), 1u);
  EXPECT_EQ(count(dom.out, "<pre class=\"setup\" data-tile=\"3,4\">"), 1u);  // no longer hidden
}

// Kept for people to look at; nothing compares it.
TEST(Page, Screenshot) {
  const std::string picture = temporary("tegula_page.png");
  std::filesystem::remove(picture);
  const Browser shot = chromium("--window-size=1366,1800 --screenshot=" + picture + " file://" +
                                write_page("tegula_page_shot.html", page()));
  ASSERT_EQ(shot.status, 0) << "chromium did not run; scripts/setup installs it";
  EXPECT_GT(std::filesystem::file_size(picture), 10000u);
}

}  // namespace
}  // namespace tegula::cli
