// softamp demo: a story in pictures, in one file.
#include "src/program/demo/story.h"
#include "src/program/options.h"
#include "src/program/program.h"

#include <iostream>
#include <limits>

#include "src/files/output_file.h"
#include "src/names/name_rows.h"
#include "src/text/word.h"

namespace softamp::program {
namespace {

struct DemoOptions {
  std::string name, out;
  uint64_t seed = 0;
};

constexpr const char* kSwamping = "swamping";
const Words kStories = {kSwamping};

int run_demo(const DemoOptions& o) {
  const std::string name = name_rows::word_from_name("story", kStories, o.name);
  const std::string file = o.out.empty() ? name + ".html" : o.out;
  if (!file.ends_with(".html") && !file.ends_with(".htm") && !o.out.starts_with("/dev/"))
    throw UsageError("--out: '" + o.out + "': expected a file name that ends in .html");
  files::OutputFile out(file, o.out.empty() ? "" : "--out");
  out.write(story_html(swamping_story(o.seed)));
  out.commit();
  std::cout << file << '\n';
  return kSuccess;
}

}  // namespace

Verb add_demo(const cli::App& program) {
  cli::App app = program.add_subcommand("demo", "A story in pictures and sentences, in one HTML file");
  const auto o = std::make_shared<DemoOptions>();
  app.add_option("NAME", o->name, "swamping: why a sum in fp16 stops growing, and what stochastic rounding does")
      .required()
      .type_name("NAME");
  app.add_option("--out", o->out, "the file [=NAME.html]").type_name("FILE.html");
  add_whole(app, "--seed", o->seed, 0, std::numeric_limits<uint64_t>::max(), "seed of the random bits, 64 bits [=0]");
  offer(app, "NAME", kStories);
  app.footer(
      R"(The file needs no other one: it can be mailed, and opened in any browser. Its name goes to standard output. The
pictures are drawn by gnuplot.

Examples:
  softamp demo swamping
  softamp demo swamping --seed 7 --out lecture.html)");
  return {app, [o] { return run_demo(*o); }};
}

}  // namespace softamp::program
