// The published experiments of `softamp reproduce`, each a function from a request to an outcome.
//
// An experiment states its set-up in its own file, runs every operation on the emulated unit in that order, and
// compares its results with the publication where that is possible. It does not print or write files: outcome_*.h and
// page.h do that from the Outcome, in the same way for all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "softamp/numerics/format.h"
#include "softamp/numerics/rounding.h"
#include "softamp/pictures/plot.h"

namespace softamp::reproduce {

using Json = nlohmann::ordered_json;

/// The options that an experiment may take; Experiment::options holds those that it takes.
enum Option : unsigned {
  kFormat = 1,    ///< --format, repeatable
  kRounding = 2,  ///< --rounding, repeatable
  kBits = 4,      ///< --bits
  kSeed = 8,      ///< --seed
  kSamples = 16,  ///< --samples
  kData = 32,     ///< --data
  kFixed = 64,    ///< --fixed-format, repeatable
};

/// What was asked for. An empty field means the experiment's own default, which its Outcome's `settings` show.
struct Request {
  std::vector<FloatFormat> formats;
  std::vector<RoundingMode> roundings;
  std::optional<int> bits;          ///< (1 .. 32) random bits of a stochastic rounding
  uint64_t seed = 0;                ///< [=0] of Philox4x32-10
  std::optional<uint64_t> samples;  ///< (1 .. 2^40) repetitions: Experiment::samples says of what
  std::vector<FixedFormat> fixed_formats;
  std::string data;    ///< folder of data sets; empty: not given
  bool brief = false;  ///< the short form that the tests run: below two seconds, smaller sizes
};

/// A table: rows of as many cells as there are columns; a cell is a number, a text, or null where there is nothing.
struct Table {
  std::string name;   ///< of its CSV file, lower case with hyphens, unique in the outcome: "sums"
  std::string title;  ///< one line above it
  std::vector<std::string> columns;
  std::vector<std::vector<Json>> rows;
};

/// A picture: `name` of its .svg and .png files, unique in the outcome, and what it shows in a line below it.
struct Figure {
  std::string name;
  Plot plot;
  std::string caption;
};

/// What a result is compared with.
enum class Against : uint8_t {
  kFigure,    ///< a published figure that is exact: equal to the last digit
  kBound,     ///< a figure, bound or interval derived from the set-up, by theory or by an independent computation
  kShape,     ///< an order or a shape that the publication describes in words
  kRecorded,  ///< nothing published to compare with: recorded; always agrees
};

/// One comparison.
struct Check {
  std::string what;  ///< "fp16, nearest: final sum"
  Against against;
  std::string ours;    ///< "0.25"
  std::string theirs;  ///< "0.25", "at most 0.031", "stochastic below nearest"
  bool agrees;
};

/// What an experiment found.
struct Outcome {
  Json settings = Json::object();  ///< every choice that made the result: formats, bits, seed, samples, ...
  std::vector<Table> tables;
  std::vector<Figure> figures;
  std::string seen;  ///< a paragraph for the reader: what can be seen, and why
  std::vector<Check> checks;
  std::string deviations;  ///< how the set-up differs from the publication's, in sentences; empty: it does not
  std::string skipped;     ///< not empty: it could not run here, and why; nothing else is set
};

/// The run was interrupted.
struct Interrupted {};

/// A long run reports to it, and asks it, several times a second.
class Watch {
 public:
  /// heard: called with the fraction done, 0..1; stop: called at the same time.
  Watch(std::function<void(double)> heard = {}, std::function<bool()> stop = {});
  /// `done` of `total`. Throws Interrupted if the run must stop. Not for several threads at once.
  void at(double done, double total);

 private:
  std::function<void(double)> heard_;
  std::function<bool()> stop_;
};

/// One experiment.
struct Experiment {
  std::string name;     ///< "harmonic-series"
  std::string summary;  ///< one line
  std::string source;   ///< author, title, year, place: where it was published
  unsigned options;     ///< of Option, or-ed
  std::string
      samples;  ///< what --samples counts, with its default: "stochastic paths [=10000]"; empty without kSamples
  /// Seconds that a run will take, roughly, on two cores: its operations by a rate that was measured.
  std::function<double(const Request&)> seconds;
  std::function<Outcome(const Request&, Watch&)> run;
  /// The files that it reads in a folder of data sets; none: the folder has not what it needs [=null: images'].
  std::vector<std::filesystem::path> (*data_files)(const std::string& folder) = nullptr;
};

/// All experiments, in the order of the list.
const std::vector<Experiment>& shelf();

/// The one called `name`; throws UnknownName with the nearest.
const Experiment& experiment_called(const std::string& name);

}  // namespace softamp::reproduce
