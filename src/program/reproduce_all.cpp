#include "src/program/reproduce_all.h"

#include "softamp/data/images.h"
#include "softamp/machine/interrupt.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>

#include "src/data/image_files.h"
#include "src/files/input_file.h"
#include "src/files/output_file.h"
#include "src/files/regular_file.h"
#include "src/files/run_files.h"
#include "src/machine/progress.h"
#include "src/reproduce/kept.h"
#include "src/reproduce/outcome_text.h"
#include "src/reproduce/page.h"
#include "src/text/columns.h"

namespace softamp::program {
namespace {

using namespace softamp::reproduce;
namespace fs = std::filesystem;

/// One experiment of the run.
struct Item {
  const Experiment* experiment;
  Request request;
  double estimate;  ///< seconds
  std::optional<Result> result{};
  bool kept = false;      ///< the result was read back
  std::string failed{};   ///< what stopped it: there is no result
  std::string trouble{};  ///< which of the result's files could not be written
};

/// Checked before the run, so that it is not in vain.
void check_files(const ReproduceOptions& o, const std::vector<Item>& items) {
  files::RunFiles files;
  for (const Item& item : items) {
    const std::string& data = item.request.data;
    if (!data.empty() && item.experiment->data_files)
      files.reads("one of the files of data that are read", item.experiment->data_files(data));
    else if (!data.empty())
      files.reads("one of the files of data that are read", image_files(data));
    if (o.out.empty()) continue;
    files.writes("--out", fs::path(o.out) / json_file(item.experiment->name));
    files.writes_into("--out", o.out, [experiment = item.experiment->name](const std::string& name) {
      return may_be_of_result(experiment, name);
    });
  }
  if (!o.out.empty()) files.writes("--out", fs::path(o.out) / "index.html");
  files.writes("--markdown", o.markdown).check();
}

/// Writes the result's files: the numbers first, so that they exist even if a figure cannot be drawn.
void keep(Item& item, const std::string& folder, bool draw) {
  try {
    if (item.kept)
      restore_tables(*item.result, folder);
    else
      keep_result(*item.result, folder);
    if (draw) draw_missing(*item.result, folder);
  } catch (const std::exception& e) {
    item.trouble = e.what();
  }
}

std::vector<Item> items_of(const ReproduceOptions& o) {
  const Request& r = o.request;
  for (const auto& [given, option] :
       {std::pair{!r.formats.empty(), "--format"}, std::pair{!r.fixed_formats.empty(), "--fixed-format"},
        std::pair{!r.roundings.empty(), "--rounding"}, std::pair{r.bits.has_value(), "--bits"},
        std::pair{r.samples.has_value(), "--samples"}})
    if (given)
      throw UsageError(std::string(option) +
                       ": 'all' does not take it; it takes --seed, --data, --out, --markdown, --brief");
  std::vector<Item> items;
  for (const Experiment& e : shelf()) {
    Request request;
    request.brief = r.brief;
    if (e.options & kSeed) request.seed = r.seed;
    if (e.options & kData) request.data = r.data;
    request = with_data(e, request);
    if (e.data_files && !request.data.empty() && e.data_files(request.data).empty()) request.data.clear();
    items.push_back({&e, request, std::max(0.01, e.seconds(request))});
  }
  return items;
}

std::vector<Result> results_of(const std::vector<Item>& items, const Program& program) {
  std::vector<Result> results;
  for (const Item& item : items) {
    if (item.result) results.push_back(*item.result);
    if (item.failed.empty()) continue;
    Result result = empty_result(*item.experiment, item.request, program);
    result.failed = item.failed;
    results.push_back(std::move(result));
  }
  return results;
}

std::string summary(const std::vector<Item>& items) {
  std::vector<std::vector<std::string>> rows = {{"experiment", "checks that agree", "seconds", ""}};
  Agreement all;
  double seconds = 0;
  size_t failed = 0, skipped = 0;
  for (const Item& item : items) {
    if (!item.failed.empty()) rows.push_back({item.experiment->name, "failed", "", item.failed});
    failed += !item.failed.empty();
    if (!item.result) continue;
    const Outcome& outcome = item.result->outcome;
    const Agreement a = agreement(outcome);
    all.judged += a.judged;
    all.agreed += a.agreed;
    seconds += item.result->seconds;
    skipped += !outcome.skipped.empty();
    std::string remark = !outcome.skipped.empty() ? outcome.skipped : item.kept ? "kept from before" : "";
    const auto add = [&](const std::string& more) { remark += (remark.empty() ? "" : "; ") + more; };
    for (const Check& check : outcome.checks)
      if (!check.agrees)
        add("differs: " + check.what + ": " + check.ours +
            (check.against == Against::kBound ? ", expected " : ", published ") + check.theirs);
    if (!item.trouble.empty()) add("not all files are written: " + item.trouble);
    rows.push_back({item.experiment->name, agreement_text(outcome), duration_text(item.result->seconds), remark});
  }
  std::string remark;
  for (const auto& [count, word] : {std::pair{failed, " failed"}, std::pair{skipped, " skipped"}})
    if (count > 0) remark += (remark.empty() ? "" : ", ") + std::to_string(count) + word;
  rows.push_back(
      {"all", std::to_string(all.agreed) + " of " + std::to_string(all.judged), duration_text(seconds), remark});
  return in_columns(rows, {2});
}

/// Runs the experiments whose results are not kept; false if a signal stopped it.
bool run_items(std::vector<Item>& items, const ReproduceOptions& o, const Program& program, bool draw) {
  double total = 0, done = 0;
  for (const Item& item : items) total += item.result ? 0 : item.estimate;
  Progress progress("softamp reproduce all", static_cast<uint64_t>(total * 1000) + 1, "");
  for (Item& item : items) {
    if (item.result) continue;
    const auto heard = [&](double share) {
      if (!o.quiet)
        progress.update(static_cast<uint64_t>((done + share * item.estimate) * 1000), item.experiment->name);
    };
    Watch watch(heard, [] { return InterruptGuard::pending() != 0; });
    try {
      watch.at(0, 1);
      item.result = run_experiment(*item.experiment, item.request, program, watch);
      if (!o.out.empty()) keep(item, o.out, draw);
    } catch (const Interrupted&) {
      return false;
    } catch (const std::exception& e) {  // the other experiments still run
      item.failed = e.what();
    }
    done += item.estimate;
    if (!o.quiet) progress.clear();
    const std::string name = "softamp reproduce: " + item.experiment->name + ": ";
    if (!item.failed.empty())
      std::cerr << name << "failed: " << item.failed << '\n';
    else if (!o.quiet)
      std::cerr << name << agreement_text(*item.result) << '\n';
  }
  return true;
}

void print_all(const ReproduceOptions& o, const std::vector<Result>& results, const std::vector<Item>& items) {
  if (o.json) {
    Json json;
    json["verb"] = "reproduce";
    json["experiments"] = Json::array();
    for (const Result& result : results) json["experiments"].push_back(result_json(result));
    std::cout << json_text(json);
    return;
  }
  if (o.out.empty())
    for (const Result& result : results) std::cout << result_text(result) << '\n';
  std::cout << summary(items);
}

}  // namespace

reproduce::Request with_data(const reproduce::Experiment& experiment, reproduce::Request request) {
  if (!(experiment.options & kData)) return request;
  const auto folder = data_folder(request.data);
  const bool given = !request.data.empty();
  request.data = folder ? folder->string() : std::string();
  if (!given && experiment.data_files && !request.data.empty() && experiment.data_files(request.data).empty())
    request.data.clear();
  return request;
}

void refuse_long(const std::string& what, double seconds, bool yes, const std::string& instead) {
  constexpr double kLong = 600;
  if (seconds > kLong && !yes)
    throw UsageError("'" + what + "' will take about " + duration_text(seconds) + " on two cores; add --yes to run it" +
                     (instead.empty() ? "" : ", or " + instead));
}

void write_then_print(const std::function<void()>& write, const std::function<void()>& print) {
  std::exception_ptr unwritten;
  try {
    write();
  } catch (...) {
    unwritten = std::current_exception();
  }
  print();
  std::cout << std::flush;
  if (unwritten) std::rethrow_exception(unwritten);
}

void write_page(const std::vector<Result>& results, const fs::path& page, bool quiet) {
  constexpr size_t kMostOfAPicture = size_t{64} << 20;
  const auto drawn = [&](const std::string& name) {
    const fs::path file = page.parent_path() / name;
    return fs::exists(file) ? files::read_regular(file, "a picture", kMostOfAPicture) : std::string();
  };
  files::write_file(page, page_html(results, drawn));
  if (!quiet) std::cerr << "softamp reproduce: the page is " << page.string() << '\n';
}

bool ready_folder(const std::string& folder, bool quiet) {
  try {
    make_folder(folder);
  } catch (const std::runtime_error& e) {
    throw UsageError(std::string("--out: ") + e.what());
  }
  const bool draw = plots_can_be_drawn();
  if (!draw && !quiet)
    std::cerr << "softamp reproduce: no gnuplot here: tables and JSON are written, figures are not drawn; install it "
                 "(Debian: gnuplot-nox)\n";
  return draw;
}

int run_all(const ReproduceOptions& o) {
  std::vector<Item> items = items_of(o);
  if (o.again && o.out.empty()) throw UsageError("--again: nothing is kept without --out");
  check_files(o, items);
  const bool draw = !o.out.empty() && ready_folder(o.out, o.quiet);
  std::optional<files::OutputFile> markdown;
  if (!o.markdown.empty()) markdown.emplace(o.markdown, "--markdown");
  const Program program{SOFTAMP_VERSION, o.out.empty() ? std::string() : program_digest()};
  size_t kept = 0;
  double rest = 0;
  for (Item& item : items) {
    // Checked with --again, too: a file that is not ours is not overwritten.
    if (!o.out.empty()) item.result = kept_result(*item.experiment, item.request, program, o.out);
    if (o.again) item.result.reset();
    item.kept = item.result.has_value();
    kept += item.kept;
    if (!item.kept) rest += item.estimate;
  }
  refuse_long("all", rest, o.yes, "take --brief");
  if (kept > 0 && !o.quiet)
    std::cerr << "softamp reproduce: " << kept << " of " << items.size() << " experiments are kept in " << o.out
              << " and are not run again; --again runs them\n";
  const InterruptGuard guard;
  for (Item& item : items)
    if (item.kept) keep(item, o.out, draw);
  if (!run_items(items, o, program, draw)) {
    const auto finished = std::count_if(items.begin(), items.end(), [](const Item& i) { return i.result.has_value(); });
    std::cerr << "softamp reproduce: interrupted; " << finished << " of " << items.size()
              << " experiments are finished; "
              << (o.out.empty() ? std::string("without --out none is kept")
                                : "they are kept in " + o.out + ", the same command continues")
              << '\n';
    return 128 + InterruptGuard::pending();
  }
  const std::vector<Result> results = results_of(items, program);
  write_then_print(
      [&] {
        if (!o.out.empty()) write_page(results, fs::path(o.out) / "index.html", o.quiet);
        if (!markdown) return;
        markdown->write(page_markdown(results));
        markdown->commit();
      },
      [&] { print_all(o, results, items); });
  bool failed = false;
  for (const Item& item : items) {
    if (!item.trouble.empty())
      std::cerr << "softamp reproduce: " << item.experiment->name << ": not all files are written: " << item.trouble
                << '\n';
    failed |= !item.trouble.empty() || !item.failed.empty();
  }
  if (failed) return kUsage;
  const bool agree =
      std::all_of(results.begin(), results.end(), [](const Result& r) { return agreement(r.outcome).all(); });
  return agree ? kSuccess : kCheckFailed;
}

}  // namespace softamp::program
