#include "src/precision/name_patterns.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <stdexcept>

#include "src/text/printable.h"

namespace softamp::precision_detail {
namespace {

using files::excerpt;

// A pattern of a recipe takes some kilobytes. If one needs more than this, RE2 refuses it or drops states.
constexpr int64_t kBytesOfPattern = 1 << 20, kBytesOfBatch = 16 << 20;

RE2::Options options(int64_t bytes) {
  RE2::Options o;
  o.set_log_errors(false);
  o.set_max_mem(bytes);
  return o;
}

/// The name of a construct that RE2 leaves out so that matching takes linear time; empty for other faults.
std::string left_out(const RE2& re) {
  const std::string& arg = re.error_arg();
  const bool number = arg.size() >= 2 && arg[0] == '\\' && arg[1] >= '1' && arg[1] <= '9';
  if (number || arg.starts_with("\\k") || arg.starts_with("\\g")) return "back-reference '" + excerpt(arg) + "'";
  if (arg == "(?P" && re.pattern().find("(?P=") != std::string::npos) return "back-reference '(?P='";
  for (const char* ahead : {"(?=", "(?!"})
    if (arg.starts_with(ahead)) return std::string("look-ahead '") + ahead + "'";
  if (arg.starts_with("(?<")) return "look-behind or group '(?<'";
  return {};
}

}  // namespace

std::string pattern_fault(const std::string& pattern) {
  if (pattern.size() > kLongestPattern)
    return "a pattern of " + std::to_string(pattern.size()) + " bytes; expected at most " +
           std::to_string(kLongestPattern);
  const RE2 re(pattern, options(kBytesOfPattern));
  if (re.ok()) return {};
  const std::string begin = "the pattern '" + excerpt(pattern) + "' ";
  if (const std::string what = left_out(re); !what.empty())
    return begin + "has the " + what + "; RE2's grammar, which takes linear time, has none";
  return begin + "does not compile: " + excerpt(re.error());
}

/// Neighbouring patterns that share one automaton.
class NamePatterns::Batch {
 public:
  Batch(std::span<const RecipeException> exceptions, RegexMode mode, size_t begin, size_t end)
      : exceptions_(exceptions),
        mode_(mode),
        begin_(begin),
        end_(end),
        set_(options(kBytesOfBatch), mode == RegexMode::kFullMatch ? RE2::ANCHOR_BOTH : RE2::UNANCHORED) {
    for (size_t i = begin; i < end; ++i) {
      set_.Add(exceptions[i].pattern, nullptr);
      any_type_ = any_type_ || exceptions[i].type.empty();
    }
    fits_ = set_.Compile();
  }

  /// Whether memory sufficed.
  bool fits() const { return fits_; }

  int first_match(std::string_view name, std::string_view op) const {
    if (!any_type_ && std::none_of(exceptions_.begin() + static_cast<std::ptrdiff_t>(begin_),
                                   exceptions_.begin() + static_cast<std::ptrdiff_t>(end_),
                                   [&](const RecipeException& e) { return e.type == op; }))
      return -1;
    const re2::StringPiece text(name.data(), name.size());
    std::vector<int> matches;
    RE2::Set::ErrorInfo error{};
    if (!set_.Match(text, &matches, &error) && error.kind != RE2::Set::kNoError) return one_by_one(text, op);
    int first = -1;
    for (const int m : matches) {
      const int i = static_cast<int>(begin_) + m;
      if (of_type(static_cast<size_t>(i), op) && (first < 0 || i < first)) first = i;
    }
    return first;
  }

 private:
  bool of_type(size_t i, std::string_view op) const { return exceptions_[i].type.empty() || exceptions_[i].type == op; }

  /// For a batch whose automaton ran out of memory: RE2's other methods need less.
  int one_by_one(const re2::StringPiece& text, std::string_view op) const {
    for (size_t i = begin_; i < end_; ++i) {
      if (!of_type(i, op)) continue;
      const RE2 re(exceptions_[i].pattern, options(kBytesOfPattern));
      if (mode_ == RegexMode::kFullMatch ? RE2::FullMatch(text, re) : RE2::PartialMatch(text, re))
        return static_cast<int>(i);
    }
    return -1;
  }

  std::span<const RecipeException> exceptions_;
  RegexMode mode_;
  size_t begin_, end_;
  RE2::Set set_;
  bool any_type_ = false, fits_ = false;
};

NamePatterns::NamePatterns(std::span<const RecipeException> exceptions, RegexMode mode, const char* list)
    : exceptions_(exceptions), mode_(mode) {
  if (exceptions.size() > kMostPatterns)
    throw std::invalid_argument(std::string(list) + ": " + std::to_string(exceptions.size()) +
                                " patterns; expected at most " + std::to_string(kMostPatterns));
  for (size_t i = 0; i < exceptions.size(); ++i)
    if (const std::string fault = pattern_fault(exceptions[i].pattern); !fault.empty())
      throw std::invalid_argument(std::string(list) + "[" + std::to_string(i) + "]: " + fault);
  if (!exceptions.empty()) compile(0, exceptions.size());
}

NamePatterns::~NamePatterns() = default;

void NamePatterns::compile(size_t begin, size_t end) {
  auto batch = std::make_unique<Batch>(exceptions_, mode_, begin, end);
  if (batch->fits() || end - begin == 1) {  // a single pattern has already compiled in less memory
    batches_.push_back(std::move(batch));
    return;
  }
  const size_t middle = begin + (end - begin) / 2;
  compile(begin, middle);
  compile(middle, end);
}

int NamePatterns::first_match(std::string_view name, std::string_view op) const {
  for (const auto& batch : batches_)
    if (const int match = batch->first_match(name, op); match >= 0) return match;
  return -1;
}

}  // namespace softamp::precision_detail
