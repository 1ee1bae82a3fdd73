// What an experiment found, as JSON and back, as text, as CSV, and kept in a folder.
#include "softamp/names/names.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <bit>
#include <string>

#include "src/files/checked_json.h"
#include "src/reproduce/kept.h"
#include "src/reproduce/outcome_csv.h"
#include "src/reproduce/outcome_text.h"
#include "tests/files.h"
#include "tests/refusal.h"
#include "tests/reproduce/fake_experiment.h"

namespace softamp::reproduce::test {
namespace {

using softamp::test::read_text;
using softamp::test::TemporaryFolder;
using softamp::test::write_text;

Result fake_result(const Request& request = {}) {
  Watch watch;
  return run_experiment(fake_experiment(), request, {"1.2", "p"}, watch);
}

std::vector<uint64_t> bits_of(const std::vector<double>& values) {
  std::vector<uint64_t> bits;
  for (const double v : values) bits.push_back(std::bit_cast<uint64_t>(v));
  return bits;
}

std::string message_of(const std::function<void()>& body) { return softamp::test::refusal<std::exception>(body); }

TEST(OutcomeJson, ComesBackToTheLastBit) {
  const Result before = fake_result();
  const std::string text = json_text(result_json(before));
  const Result after = result_from_json(Json::parse(text));
  EXPECT_EQ(json_text(result_json(after)), text);
  EXPECT_EQ(after.request, before.request);
  EXPECT_EQ(after.seconds, before.seconds);
  const auto& a = before.outcome.figures.at(0).plot;
  const auto& b = after.outcome.figures.at(0).plot;
  ASSERT_EQ(b.curves.size(), a.curves.size());
  for (size_t i = 0; i < a.curves.size(); ++i) {
    EXPECT_EQ(bits_of(b.curves[i].x), bits_of(a.curves[i].x));
    EXPECT_EQ(bits_of(b.curves[i].y), bits_of(a.curves[i].y));
    EXPECT_EQ(b.curves[i].style, a.curves[i].style);
    EXPECT_EQ(b.curves[i].colour, a.curves[i].colour);
    EXPECT_EQ(b.curves[i].dashed, a.curves[i].dashed);
  }
  EXPECT_EQ(b.x_log, 10);
  EXPECT_EQ(b.y_log, 2);
  ASSERT_TRUE(b.y_range && !b.x_range);
  EXPECT_EQ(b.y_range->least, 1e-3);
  EXPECT_EQ(after.outcome.tables.at(0).rows, before.outcome.tables.at(0).rows);
  ASSERT_EQ(after.outcome.checks.size(), 4u);
  EXPECT_EQ(after.outcome.checks[1].against, Against::kBound);
  EXPECT_EQ(after.outcome.deviations, before.outcome.deviations);
  EXPECT_EQ(after.program, "p");
}

TEST(OutcomeJson, OfNumbersThatAreNoneIsTheSameWhenItComesBack) {
  Experiment e = fake_experiment();
  e.run = [](const Request&, Watch&) {
    Outcome o = fake_outcome(0);
    const double infinity = std::numeric_limits<double>::infinity();
    o.settings["limits"] = {-infinity, 1.5};
    o.tables[0].rows = {{"a", 1, std::nan(""), true}, {"b", 2, infinity, true}, {"c", 3, 0.5, true}};
    return o;
  };
  Watch watch;
  const Result ran = run_experiment(e, Request{}, {"1.2", "p"}, watch);
  const Result read = result_from_json(Json::parse(json_text(result_json(ran))));
  EXPECT_EQ(result_text(read), result_text(ran));
  EXPECT_EQ(table_csv(read.outcome.tables[0]), table_csv(ran.outcome.tables[0]));
  EXPECT_EQ(table_csv(ran.outcome.tables[0]).substr(31), "a,1,nan,true\nb,2,inf,true\nc,3,0.5,true\n");
  EXPECT_TRUE(number_column(read.outcome.tables[0], 2));
  EXPECT_EQ(setting_text(read.outcome.settings["limits"]), "-inf, 1.5");
}

TEST(OutcomeJson, OfWhatFailedIsTheReason) {
  Result failed = empty_result(fake_experiment(), Request{}, {"1.2", "p"});
  failed.failed = "no memory";
  const Result read = result_from_json(Json::parse(json_text(result_json(failed))));
  EXPECT_EQ(read.failed, "no memory");
  EXPECT_EQ(agreement_text(read), "failed");
  EXPECT_NE(result_text(read).find("\nfailed      no memory\n"), std::string::npos);
  EXPECT_FALSE(result_json(failed).contains("skipped"));
}

TEST(OutcomeJson, HasAListOfNumbersOnOneLine) {
  const std::string text = json_text(Json{{"a", {1, 2.5, "x"}}, {"b", {{"c", Json::array()}, {"d", {{1}, {2}}}}}});
  EXPECT_EQ(text,
            "{\n  \"a\": [1,2.5,\"x\"],\n  \"b\": {\n    \"c\": [],\n    \"d\": [\n      [1],\n      [2]\n    ]\n  "
            "}\n}\n");
  EXPECT_EQ(Json::parse(text)["a"][1], 2.5);
}

TEST(OutcomeJson, RefusesWhatIsNoResult) {
  EXPECT_EQ(message_of([] { result_from_json(Json::parse("{\"verb\": 1}")); }).rfind("no result of an experiment: ", 0),
            0u);
  Json other = result_json(fake_result());
  other["softamp_reproduce"] = 0;
  EXPECT_EQ(message_of([&] { result_from_json(other); }), "of another kind");
}

TEST(OutcomeJson, HasWholeNumbersWhereTheyAre) {
  const Json good = result_json(fake_result());
  for (const char* number : {"1e+300", "-1", "1.5", "9223372036854775808", "true"}) {
    const std::string is = "' is " + std::string(number) + "; expected a whole number in 0..";
    for (const char* key : {"x_log", "y_log"}) {
      Json bad = good;
      bad["figures"][0][key] = Json::parse(number);
      EXPECT_EQ(message_of([&] { result_from_json(bad); }), "'" + std::string(key) + is + "10");
    }
    Json bad = good;
    bad["figures"][0]["curves"][0]["colour"] = Json::parse(number);
    EXPECT_EQ(message_of([&] { result_from_json(bad); }), "'colour" + is + "1048576");
  }
  Json bad = good;
  bad["seconds"] = true;
  EXPECT_EQ(message_of([&] { result_from_json(bad); }), "true is no number");
}

TEST(OutcomeJson, HasFiniteNumbersWhereTheyAreWrittenAsSuch) {
  const Json good = result_json(fake_result());
  for (const char* number : {"inf", "-inf", "nan"}) {
    const std::string is = "' is \"" + std::string(number) + "\"; expected a finite number";
    Json bad = good;
    bad["seconds"] = number;
    EXPECT_EQ(message_of([&] { result_from_json(bad); }), "'seconds" + is);
    for (const char* key : {"x_range", "y_range"})
      for (const int end : {0, 1}) {
        bad = good;
        bad["figures"][0][key] = {1, 2};
        bad["figures"][0][key][end] = number;
        EXPECT_EQ(message_of([&] { result_from_json(bad); }), "'" + std::string(key) + is);
      }
  }
}

TEST(Kept, ItsFilesAreKnownByTheirNames) {
  const Result r = fake_result();
  ASSERT_FALSE(r.outcome.tables.empty() || r.outcome.figures.empty());
  EXPECT_TRUE(may_be_of_result(r.name, table_file(r.name, r.outcome.tables[0])));
  for (const char* ending : {".svg", ".png"})
    EXPECT_TRUE(may_be_of_result(r.name, figure_file(r.name, r.outcome.figures[0], ending)));
  for (const std::string& name :
       {r.name + ".md", r.name + "-sums.md", std::string("page.csv"), std::string("index.html")})
    EXPECT_FALSE(may_be_of_result(r.name, name)) << name;
}

TEST(OutcomeJson, OfWhatWasSkippedIsTheReason) {
  Outcome o;
  o.skipped = "no images";
  EXPECT_EQ(outcome_json(o), (Json{{"skipped", "no images"}}));
  EXPECT_EQ(outcome_from_json(outcome_json(o)).skipped, "no images");
}

TEST(OutcomeText, TablesAreAlignedAndChecksHaveVerdicts) {
  Result r = fake_result();
  r.outcome.tables.resize(1);
  r.outcome.tables[0].rows.pop_back();
  r.outcome.checks[2].agrees = false;
  EXPECT_EQ(result_text(r),
            "experiment  fake: An experiment of the tests' own\n"
            "source      Nobody, \"Nothing\", 1970, nowhere\n"
            "command     softamp reproduce fake\n"
            "softamp     1.2\n"
            "settings\n"
            "  formats  fp16, bf16\n"
            "  seed     0\n"
            "  rate     0.1\n"
            "\n"
            "Sums, <by> format\n"
            "format      n         sum, \"exact\"  ours\n"
            "fp16       10  0.30000000000000004  yes\n"
            "b|f,16  20000                    -  no\n"
            "\n"
            "The sum stops, because half a unit in the last place of it is more than what is added; <this> &\n"
            "that.\n"
            "\n"
            "Not as published: Nine paths, not <ten>.\n"
            "\n"
            "Checks: 2 of 3 agree\n"
            "  verdict   what                   ours    published or derived  against\n"
            "  agrees    fp16: final sum        0.25    0.25                  figure\n"
            "  agrees    mean of the sums       1.0002  within 0.01 of 1      bound\n"
            "  differs   order                  a, b    a before b            shape\n"
            "  recorded  what nobody published  7       -                     recorded\n");
  EXPECT_FALSE(agreement(r.outcome).all());
}

TEST(OutcomeText, LettersAreCountedNotBytes) {
  EXPECT_EQ(wrapped("aa \xc3\xa4\xc3\xa4 b", 5), "aa \xc3\xa4\xc3\xa4\nb\n");
}

TEST(OutcomeText, DurationsArePlain) {
  const std::pair<double, const char*> rows[] = {{0.04, "0.0 s"}, {4.26, "4.3 s"}, {14, "14 s"},
                                                 {600, "10 min"}, {9000, "2.5 h"}, {1e6, "12 days"}};
  for (const auto& row : rows) EXPECT_EQ(duration_text(row.first), row.second);
}

TEST(OutcomeCsv, IsQuotedAsTheStandardSays) {
  EXPECT_EQ(table_csv(fake_outcome(0).tables[0]),
            "format,n,\"sum, \"\"exact\"\"\",ours\n"
            "fp16,10,0.30000000000000004,true\n"
            "\"b|f,16\",20000,,false\n"
            "\"say \"\"x\"\"\nnow\",3,1e-300,\n");
}

TEST(Kept, IsReadBackForTheSameRequestOnly) {
  const TemporaryFolder folder;
  const Experiment e = fake_experiment();
  Request request;
  EXPECT_FALSE(kept_result(e, request, {"1.2", "p"}, folder.path()));
  const Result result = fake_result();
  keep_result(result, folder.path());
  EXPECT_EQ(folder.entries(), 3u);  // two tables and the JSON, and nothing else
  EXPECT_EQ(read_text(folder.file("fake-sums.csv")), table_csv(result.outcome.tables[0]));
  const auto kept = kept_result(e, request, {"1.2", "p"}, folder.path());
  ASSERT_TRUE(kept);
  EXPECT_EQ(json_text(result_json(*kept)), json_text(result_json(result)));
  EXPECT_FALSE(kept_result(e, request, {"1.3", "p"}, folder.path()));
  EXPECT_FALSE(kept_result(e, request, {"1.2", "another build"}, folder.path()));
  request.seed = 1;
  EXPECT_FALSE(kept_result(e, request, {"1.2", "p"}, folder.path()));
  request.seed = 0;
  request.brief = true;
  EXPECT_FALSE(kept_result(e, request, {"1.2", "p"}, folder.path()));
  request.brief = false;
  request.bits = 9;  // which this experiment does not take
  EXPECT_TRUE(kept_result(e, request, {"1.2", "p"}, folder.path()));
}

TEST(Kept, WhatIsNoResultIsRefusedInOurWords) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text) {
    write_text(folder.file("fake.json"), text);
    return softamp::test::refusal<std::runtime_error>([&] {
      kept_result(fake_experiment(), Request{}, {"1.2", "p"}, folder.path());
    });
  };
  const std::string begin = "'" + folder.file("fake.json") + "': ";
  const std::string end = "; expected a result of 'fake' that `softamp reproduce` wrote, or no such file";
  EXPECT_EQ(refused(std::string(100000, '[')), begin + "line 1, column 65: nested deeper than 64" + end);
  EXPECT_EQ(refused("{\"softamp_reproduce\":3}"), begin +
                                                      "its \"softamp_reproduce\" is 3: it is of a newer version of "
                                                      "softamp than this one, which reads 2" +
                                                      end);
  EXPECT_EQ(refused("{\"softamp_reproduce\":2}"), begin + "no result of an experiment: key 'name' not found" + end);
}

TEST(Kept, WhatWasChangedSinceIsRefusedAndWhatIsOlderIsNotThere) {
  const TemporaryFolder folder;
  const auto found = [&] { return kept_result(fake_experiment(), Request{}, {"1.2", "p"}, folder.path()); };
  keep_result(fake_result(), folder.path());
  const std::string whole = read_text(folder.file("fake.json"));
  ASSERT_TRUE(found());
  const size_t at = whole.find("0.30000000000000004");
  ASSERT_NE(at, std::string::npos);
  std::string changed = whole;
  changed[at] = '1';
  write_text(folder.file("fake.json"), changed);
  const std::string message = message_of([&] { found(); });
  EXPECT_NE(message.find("fake.json': its checksum is "), std::string::npos) << message;
  EXPECT_NE(message.find("or no such file"), std::string::npos) << message;
  write_text(folder.file("fake.json"), json_text(result_json(fake_result())));
  EXPECT_NE(message_of([&] { found(); }).find("its last member is no checksum"), std::string::npos);
  write_text(folder.file("fake.json"), "{\"softamp_reproduce\":1}");
  EXPECT_FALSE(found());
}

TEST(Kept, APipeIsNotWaitedFor) {
  const TemporaryFolder folder;
  const auto pipe = [&](const std::string& name) { ASSERT_EQ(::mkfifo(folder.file(name).c_str(), 0600), 0); };
  pipe("fake.json");
  const std::string message = message_of([&] {
    kept_result(fake_experiment(), Request{}, {"1.2", "p"}, folder.path());
  });
  EXPECT_EQ(folder.without(message), "fake.json: is a pipe; expected a regular file, a result of 'fake'");
  std::filesystem::remove(folder.file("fake.json"));
  pipe("fake-sums.csv");
  const std::string table = "fake-sums.csv: is a pipe; expected a regular file, a table";
  EXPECT_EQ(folder.without(message_of([&] { restore_tables(fake_result(), folder.path()); })), table);
  EXPECT_EQ(folder.without(message_of([&] { keep_result(fake_result(), folder.path()); })), table);
}

TEST(Kept, FiguresAreDrawnLaterWhereGnuplotWasMissing) {
  const TemporaryFolder folder;
  const Result result = fake_result();
  keep_result(result, folder.path());
  draw_missing(result, folder.path());
  EXPECT_EQ(folder.entries(), 5u);
  EXPECT_EQ(read_text(folder.file("fake-error.svg")).rfind("<?xml", 0), 0u);
  EXPECT_EQ(read_text(folder.file("fake-error.png")).substr(1, 3), "PNG");
}

TEST(Kept, NothingOfAnEarlierResultStaysBesideANewOne) {
  const TemporaryFolder folder;
  Result before = fake_result();
  before.outcome.tables[0].name = "other";
  Figure more = before.outcome.figures[0];
  more.name = "more";
  before.outcome.figures.push_back(more);
  keep_result(before, folder.path());
  for (const char* figure : {"fake-error.svg", "fake-error.png", "fake-more.svg", "fake-more.png"})
    write_text(folder.file(figure), "old");
  write_text(folder.file("fake-mine.csv"), "somebody's");
  keep_result(fake_result(), folder.path());  // gnuplot is missing, say
  EXPECT_EQ(folder.entries(), 4u);
  for (const char* file : {"fake.json", "fake-sums.csv", "fake-long.csv", "fake-mine.csv"})
    EXPECT_TRUE(std::filesystem::exists(folder.file(file))) << file;
}

TEST(Kept, NamesOfAFileDoNotReachOtherFolders) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "in" / "fake-x");
  Json json = result_json(fake_result());
  json["tables"][0]["name"] = "x/../../victim";
  write_text(folder.file("in/fake.json"), with_checksum(json_text(json)));
  write_text(folder.file("victim.csv"), "mine");
  keep_result(fake_result(), folder.path() / "in");
  EXPECT_EQ(read_text(folder.file("victim.csv")), "mine");
}

TEST(Kept, TablesThatAreGoneAreWrittenAgain) {
  const TemporaryFolder folder;
  keep_result(fake_result(), folder.path());
  const std::string before = read_text(folder.file("fake-sums.csv"));
  std::filesystem::remove(folder.file("fake-sums.csv"));
  const auto kept = kept_result(fake_experiment(), Request{}, {"1.2", "p"}, folder.path());
  ASSERT_TRUE(kept);
  restore_tables(*kept, folder.path());
  EXPECT_EQ(read_text(folder.file("fake-sums.csv")), before);
}

TEST(Kept, LocksAndPartsOfAKilledRunGoAlthoughTheirFilesAreWhole) {
  const TemporaryFolder folder;
  const Result result = fake_result();
  keep_result(result, folder.path());
  draw_missing(result, folder.path());
  for (const char* file : {"fake.json", "fake-sums.csv", "fake-long.csv", "fake-error.svg", "fake-error.png"})
    for (const char* ending : {".lock", ".part"}) write_text(folder.file("." + std::string(file) + ending), "1");
  const auto kept = kept_result(fake_experiment(), Request{}, {"1.2", "p"}, folder.path());
  ASSERT_TRUE(kept);
  restore_tables(*kept, folder.path());
  draw_missing(*kept, folder.path());
  EXPECT_EQ(folder.entries(), 5u);
}

TEST(Kept, IsOfTheDataThatItWasRunOn) {
  const TemporaryFolder folder, data;
  Request request;
  request.data = data.path().string();
  std::filesystem::create_directories(data.path() / "fashion-mnist");
  const std::string images = data.file("fashion-mnist/images");
  write_text(images, "one");
  const auto time = std::filesystem::last_write_time(images);
  keep_result(fake_result(request), folder.path());
  const auto kept = [&] { return kept_result(fake_experiment(), request, {"1.2", "p"}, folder.path()).has_value(); };
  EXPECT_TRUE(kept());
  EXPECT_EQ(read_text(folder.file("fake.json")).find(request.data), std::string::npos);  // no folder of this machine
  write_text(images, "four");
  std::filesystem::last_write_time(images, time);
  EXPECT_FALSE(kept());
  write_text(images, "two");
  std::filesystem::last_write_time(images, time + std::chrono::seconds(1));
  EXPECT_FALSE(kept());
  write_text(images, "one");
  std::filesystem::last_write_time(images, time);
  EXPECT_TRUE(kept());
}

TEST(Kept, AForeignFileIsNotTakenForOne) {
  const TemporaryFolder folder;
  write_text(folder.file("fake.json"), "{}");
  const std::string message = message_of([&] {
    kept_result(fake_experiment(), Request{}, {"1.2", "p"}, folder.path());
  });
  EXPECT_EQ(message.rfind("'" + folder.file("fake.json") + "': no result of an experiment", 0), 0u) << message;
  EXPECT_EQ(message_of([&] { keep_result(fake_result(), folder.path()); }), message);
  EXPECT_EQ(read_text(folder.file("fake.json")), "{}");
  Json other = result_json(fake_result());
  other["name"] = "other";
  write_text(folder.file("fake.json"), with_checksum(json_text(other)));
  EXPECT_NE(message_of([&] { keep_result(fake_result(), folder.path()); }).find("a result of 'other'; expected"),
            std::string::npos);
}

TEST(Kept, WhatWasSkippedIsNot) {
  const TemporaryFolder folder;
  Result result = fake_result();
  result.outcome = {};
  result.outcome.skipped = "no images";
  keep_result(result, folder.path());
  EXPECT_EQ(folder.entries(), 0u);
  EXPECT_EQ(agreement_text(result.outcome), "skipped");
}

TEST(Kept, AFolderIsMadeOrRefusedBeforeTheRun) {
  const TemporaryFolder folder;
  make_folder(folder.path() / "a" / "b");
  EXPECT_TRUE(std::filesystem::is_directory(folder.path() / "a" / "b"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "a" / "b"));
  EXPECT_EQ(message_of([] { make_folder("/dev/null/x"); }),
            "'/dev/null/x': Not a directory; expected a folder that can be written to, or a place for one");
  write_text(folder.file("file"), "");
  EXPECT_NE(message_of([&] { make_folder(folder.path() / "file"); }).find("expected a folder"), std::string::npos);
}

TEST(Request, CommandsRepeatIt) {
  Request request;
  EXPECT_EQ(command_line(fake_experiment(), request), "softamp reproduce fake");
  request.formats = {kFp16, kBf16};
  request.seed = 7;
  request.samples = 12;
  request.data = "a b's";
  EXPECT_EQ(command_line(fake_experiment(), request),
            "softamp reproduce fake --format fp16 --format bf16 --seed 7 --samples 12 --data DIR");
  request.brief = true;
  request.fixed_formats = {fixed_format_from_name("q2.14")};
  EXPECT_EQ(command_line(fake_experiment(), request),
            "softamp reproduce fake --format fp16 --format bf16 --fixed-format q2.14 --seed 7 --samples 12 --data DIR "
            "--brief");
  Experiment fixed = fake_experiment();
  fixed.options |= kFixed;
  EXPECT_EQ(request_json(fixed, request)["fixed_format"], Json({"q2.14"}));
  EXPECT_FALSE(request_json(fake_experiment(), request).contains("fixed_format"));
}

TEST(Request, AValueIsNotGivenTwice) {
  Experiment e = fake_experiment();
  e.options |= kFixed | kRounding;
  const auto message = [&](const Request& request) { return message_of([&] { check_request(e, request, false); }); };
  Request request;
  request.formats = {kFp16, kBf16, format_from_name("e5p11")};
  EXPECT_EQ(message(request), "--format: 'fp16' is given twice");
  request.formats.pop_back();
  EXPECT_EQ(message(request), "");
  request.fixed_formats = {fixed_format_from_name("q2.14"), fixed_format_from_name("q4.12")};
  request.roundings = {RoundingMode::kStochastic, RoundingMode::kNearestEven};
  EXPECT_EQ(message(request), "");
  request.roundings.push_back(RoundingMode::kStochastic);
  EXPECT_EQ(message(request), "--rounding: 'stochastic' is given twice");
  request.fixed_formats.push_back(fixed_format_from_name("q2.14"));
  EXPECT_EQ(message(request), "--fixed-format: 'q2.14' is given twice");
}

TEST(Request, AnOptionThatIsNotTakenNamesThoseThatAre) {
  Request request;
  request.bits = 3;
  EXPECT_EQ(message_of([&] { check_request(fake_experiment(), request, false); }),
            "--bits: 'fake' does not take it; it takes --format, --seed, --samples, --data");
  Experiment none = fake_experiment();
  none.options = 0;
  EXPECT_EQ(message_of([&] { check_request(none, Request{}, true); }),
            "--seed: 'fake' does not take it; it takes no options");
  EXPECT_EQ(message_of([&] { check_request(none, Request{}, false); }), "");
}

TEST(Watch, StopsARunThatIsAskedToStop) {
  double heard = 0;
  Watch watch([&](double share) { heard = share; }, [] { return true; });
  EXPECT_THROW(run_experiment(fake_experiment(), Request{}, {"1.2", "p"}, watch), Interrupted);
  EXPECT_EQ(heard, 0);
  Watch hearing([&](double share) { heard = share; });
  run_experiment(fake_experiment(), Request{}, {"1.2", "p"}, hearing);
  EXPECT_EQ(heard, 0.5);
}

}  // namespace
}  // namespace softamp::reproduce::test
