// softamp compute: one operation on every line of standard input, in the line format of the TestFloat suite.
#include "src/program/compute/compute_options.h"
#include "src/program/compute/random_file.h"
#include "src/program/program.h"

#include "softamp/findings/exception.h"
#include "softamp/numerics/random.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

namespace softamp::program {
namespace {

constexpr const char* kComputeLines =
    R"(Each line of standard input holds the operands of one case in hexadecimal, separated by one blank, as
`testfloat_gen` writes them; each line of output repeats them and adds the result and the flags
(01 inexact, 02 underflow, 04 overflow, 08 divide by zero, 10 invalid):

  $ echo "3C00 3C01" | softamp compute f16_add
  3C00 3C01 4000 01
  $ testfloat_gen f16 2 | softamp compute f16_mul | testfloat_ver f16_mul
  $ echo "7B53 7B53" | softamp compute f16_mul --preset ipu --behaviour oflo   # stops with exit code 3
  $ echo "3C00 1000 1FFF" | softamp compute f16_add --rounding stochastic --random-field
  3C00 1000 1FFF 3C01 01
  $ echo "3F801000 FFF80000" | softamp compute f32_to_f16 --chip cdna4 --random-field
  3F801000 FFF80000 3C01 01
  $ softamp vectors f16_add --rounding up | softamp compute f16_add --rounding up --check
  50000 lines agree

)";
constexpr const char* kComputeRules = R"(
--check reads lines with results and flags, and reports the first ten that differ; exit code 1 if any does. A stochastic
rounding takes R from the line (--random-field: R itself, or the chip's random word of 32 bits, of which it reads its part for
value 0), from a file, or, of line n (from 0), from the generator: index n, operation 0, step 0, as `softamp round`
does for element n. In the preset ipu, --behaviour names the flags that are on: inv, div0 and oflo stop at the first
line that raises them, esr rounds stochastically, nanoo turns an overflow into NaN.)";

struct ComputeJob {
  ComputeOptions compute;
  uint64_t seed = 0;
  std::string random_bits;
  bool random_field = false;
  bool check = false;
};

/// One run over standard input.
class Computation {
 public:
  Computation(const ComputePlan& plan, const ComputeJob& options)
      : plan_(plan), shape_(plan.operation.shape), bits_{options.seed}, check_(options.check) {
    if (options.random_field) shape_.field_bits = plan.random.bits;
    shape_.judged = check_;
    if (!options.random_bits.empty()) file_ = std::make_unique<RandomFile>(options.random_bits, plan.random);
  }

  int run() {
    constexpr size_t kReadSize = size_t{1} << 20;
    std::string pending;
    for (;;) {
      const size_t before = pending.size();
      pending.resize(before + kReadSize);
      const ssize_t n = ::read(STDIN_FILENO, pending.data() + before, kReadSize);
      if (n < 0 && errno != EINTR) throw UsageError(std::string("cannot read standard input: ") + std::strerror(errno));
      pending.resize(before + static_cast<size_t>(std::max<ssize_t>(n, 0)));
      if (n < 0) continue;
      if (n == 0 && !pending.empty()) pending += '\n';  // the last line may lack a newline
      const size_t done = consume(pending);
      if (stopped_) {
        std::cerr << report_ << '\n';
        return kFloatingPointException;
      }
      pending.erase(0, done);
      if (n == 0) return finish();
      constexpr size_t kLongestLine = size_t{1} << 16;
      if (pending.size() > kLongestLine)
        throw UsageError("standard input, line " + std::to_string(lines_ + 1) + " is longer than 65536 bytes");
    }
  }

 private:
  /// Computes the complete lines of `text`, writes their results, and returns the bytes they took.
  size_t consume(std::string_view text) {
    size_t at = 0;
    std::optional<UsageError> refused;
    out_.clear();
    while (!stopped_ && !refused) {
      size_t read = 0;
      try {
        read = read_cases(text.substr(at), shape_, lines_ + 1, *block_);
      } catch (const UsageError& e) {
        refused = e;  // the lines before it are in the block
      }
      if (block_->count == 0) break;
      const size_t asked = block_->count;
      compute_block();
      if (block_->count < asked && !stopped_) refused = UsageError(file_->shortage(lines_ + 1));
      at += read;
    }
    write_lines(out_);
    if (refused && !stopped_) throw *refused;
    return at;
  }

  void compute_block() {
    CaseBlock& block = *block_;
    fill_random();
    plan_.operation.run(plan_.operation, plan_.setting, block);
    if (check_) return judge();
    size_t count = block.count;
    if (const uint8_t enabled = plan_.behaviour.enabled_flags()) {
      for (size_t row = 0; row < count && !stopped_; ++row) {
        status_ = static_cast<uint8_t>(status_ | block.flags[row]);
        if ((block.flags[row] & enabled) == 0) continue;
        stop_at(row, static_cast<uint8_t>(block.flags[row] & enabled));
        count = row + 1;
      }
    }
    write_cases(block, count, shape_, out_);
    lines_ += count;
  }

  /// Compares a block with what its lines say.
  void judge() {
    constexpr uint64_t kShown = 10;
    const CaseBlock& block = *block_;
    for (size_t row = 0; row < block.count; ++row) {
      if (block.result[row] == block.told_result[row] && block.flags[row] == block.told_flags[row]) continue;
      if (wrong_++ < kShown)
        out_ += "line " + std::to_string(lines_ + row + 1) + ": " + operands_text(block, row, shape_) + ": found " +
                result_text(block.told_result[row], block.told_flags[row], shape_) + ", expected " +
                result_text(block.result[row], block.flags[row], shape_) + "\n";
    }
    lines_ += block.count;
  }

  int finish() {
    if (!check_) return kSuccess;
    if (lines_ == 0) throw UsageError("--check: standard input has no line; expected operands, result and flags");
    const std::string lines = std::to_string(lines_) + (lines_ == 1 ? " line" : " lines");
    write_lines(wrong_ == 0 ? lines + (lines_ == 1 ? " agrees\n" : " agree\n")
                            : std::to_string(wrong_) + " of " + lines + (wrong_ == 1 ? " differs\n" : " differ\n"));
    return wrong_ == 0 ? kSuccess : kCheckFailed;
  }

  void stop_at(size_t row, uint8_t kinds) {
    const ComputeOperation& operation = plan_.operation;
    ExceptionSite site{operation.name, lines_ + row, operation.from, {}, operation.from_int, 0, 0};
    for (int i = 0; i < operation.shape.operands; ++i) site.operands.push_back(block_->operand[i][row]);
    report_ = FloatingPointError(kinds, status_, site).what();
    stopped_ = true;
  }

  void fill_random() {
    CaseBlock& block = *block_;
    if (plan_.random.number_bits == 0) return;
    if (shape_.field_bits > 0) {
      for (size_t i = 0; i < block.count; ++i) block.random[i] = plan_.random.number(block.field[i]);
      return;
    }
    if (file_) {
      block.count = file_->take(block.count, block.random);
      return;
    }
    const bool wide_lanes = plan_.random.number_bits > 16;
    const uint64_t lanes = wide_lanes ? 4 : 8;
    RandomBlock words{};
    for (size_t i = 0; i < block.count; ++i) {
      const uint64_t index = lines_ + i, lane = index % lanes;
      if (i == 0 || lane == 0) words = bits_.block(0, 0, index / lanes);
      block.random[i] = wide_lanes ? words.word[lane] : words.lane16(static_cast<uint32_t>(lane));
    }
  }

  const ComputePlan& plan_;
  LineShape shape_;
  RandomBits bits_;
  bool check_;
  std::unique_ptr<RandomFile> file_;
  std::unique_ptr<CaseBlock> block_ = std::make_unique<CaseBlock>();
  std::string out_, report_;
  uint64_t lines_ = 0, wrong_ = 0;
  uint8_t status_ = 0;  ///< sticky, as on the device: also what earlier lines raised without stopping
  bool stopped_ = false;
};

int run_compute(const ComputeJob& options, const cli::App& app) {
  const ComputePlan plan = compute_plan(options.compute, app);
  const char* const source = options.random_field ? "--random-field" : "--random-words";
  if (options.random_field && !options.random_bits.empty())
    throw UsageError("--random-field and --random-words: expected one source of random bits");
  refuse_idle_random(app, plan, !options.random_field && options.random_bits.empty(), source, false);
  if (options.check && plan.behaviour.enabled_flags() != 0)
    throw UsageError("--check: expected no inv, div0 or oflo in --behaviour, which would stop at the first");
  std::cout.flush();
  return Computation(plan, options).run();
}

}  // namespace

Verb add_compute(const cli::App& program) {
  cli::App app =
      program.add_subcommand("compute", "One operation on every line of standard input (TestFloat's format)");
  app.footer(std::string(kComputeLines) + kComputeOperationsHelp + kComputeRules);
  const auto options = std::make_shared<ComputeJob>();
  add_compute_options(app, options->compute);
  add_whole(app, "--seed", options->seed, 0, std::numeric_limits<uint64_t>::max(),
            "seed of the random bits, 64 bits [=0]");
  app.add_flag("--random-field", options->random_field,
               "each line holds its random number R after the operands, as hardware would get it");
  app.add_option(
         "--random-words", options->random_bits,
         "one unsigned number ('u1', 'u2', 'u4') for each line instead of the generator, as in `softamp round`: "
         "its low --bits bits are R; with --chip it is the chip's random word")
      .type_name("R.npy");
  app.add_flag("--check", options->check, "the lines hold results: compare, and report the first that differ");
  return {app, [=] { return run_compute(*options, app); }};
}

}  // namespace softamp::program
