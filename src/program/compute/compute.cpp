// softamp compute: one operation on every line of standard input, in the line format of the TestFloat suite.
#include "src/program/compute/compute_operations.h"
#include "src/program/options.h"
#include "src/program/program.h"
#include "src/program/unit_script.h"
#include "src/report/comma_list.h"

#include "softamp/numerics/random.h"
#include "softamp/report/exception.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>
#include <vector>

namespace softamp::program {
namespace {

constexpr const char* kFooter =
    R"(Each line of standard input holds the operands of one case in hexadecimal, separated by one blank, as
`testfloat_gen` writes them; each line of output repeats them and adds the result and the flags
(01 inexact, 02 underflow, 04 overflow, 08 divide by zero, 10 invalid):

  $ echo "3C00 3C01" | softamp compute f16_add
  3C00 3C01 4000 01
  $ testfloat_gen f16 2 | softamp compute f16_mul | testfloat_ver f16_mul
  $ echo "7B53 7B53" | softamp compute f16_mul --preset ipu --behaviour oflo   # stops with exit code 3

Operations, T being f16, bf16, f32, e4m3, e5m2, f143 or f152: T_add T_sub T_mul T_div T_rem T_sqrt T_mulAdd T_min T_max
T_roundToInt T_eq T_le T_lt T_eq_signaling T_le_quiet T_lt_quiet T_to_T T_to_i32 i32_to_T; f64 only in T_to_T.
The preset ieee detects tininess after rounding. A stochastic rounding of line n (from 0) uses the random bits of index
n, operation 0, step 0, as `softamp round` does for element n. In the preset ipu, --behaviour names the flags that are
on: inv, div0 and oflo stop at the first line that raises them, esr rounds stochastically, nanoo turns an overflow into
NaN.)";

struct Options {
  RoundingOptions rounding;
  std::string operation;
  std::string behaviour_text;
  bool behaviour_given = false;
  bool rounding_given = false;
  bool exact = false;
};

FloatingPointBehaviour behaviour_of(const Options& options) {
  if (options.rounding.preset == Preset::kIeee) {
    if (options.behaviour_given)
      throw UsageError("--behaviour: expected --preset ipu beside it; ieee has no behaviour flags");
    return FloatingPointBehaviour::all_off();
  }
  FloatingPointBehaviour b = options.behaviour_given
                                 ? behaviour_from_words("--behaviour", split_at_commas(options.behaviour_text))
                                 : FloatingPointBehaviour::all_off();
  const bool stochastic = options.rounding.mode == RoundingMode::kStochastic;
  if (b.esr && options.rounding_given && !stochastic)
    throw UsageError("--behaviour esr rounds stochastically; expected --rounding stochastic or none, not " +
                     name_of(options.rounding.mode));
  b.esr = b.esr || stochastic;
  return b;
}

Semantics semantics_of(const Options& options, const FloatingPointBehaviour& behaviour) {
  const Semantics checked = options.rounding.semantics();  // refuses modes that the preset does not have
  if (options.rounding.preset == Preset::kIeee) return checked;
  IpuSwitches switches;
  switches.sr_bits = options.rounding.random_bits();
  switches.sr_form = options.rounding.variant;
  return Semantics::ipu(behaviour, switches);
}

/// Writes large blocks, and holds nothing back longer than one read.
void write_out(const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw UsageError(std::string("cannot write to standard output: ") + std::strerror(errno));
    done += static_cast<size_t>(n);
  }
}

/// One run over standard input.
class Computation {
 public:
  Computation(const ComputeOperation& operation, const ComputeSetting& setting, const FloatingPointBehaviour& behaviour,
              uint64_t seed)
      : operation_(operation),
        setting_(setting),
        behaviour_(behaviour),
        bits_{seed},
        draws_(setting.semantics.wide.stochastic() || setting.semantics.narrow.stochastic()) {}

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
      if (n == 0) return kSuccess;
      constexpr size_t kLongestLine = size_t{1} << 16;
      if (pending.size() > kLongestLine)
        throw UsageError("standard input, line " + std::to_string(lines_ + 1) + " is longer than 65536 bytes");
    }
  }

 private:
  /// Computes the complete lines of `text`, writes their results, and returns the bytes they took.
  size_t consume(std::string_view text) {
    size_t at = 0;
    out_.clear();
    try {
      while (!stopped_) {
        const size_t read = read_cases(text.substr(at), operation_.shape, lines_ + 1, *block_);
        if (block_->count == 0) break;
        compute_block();
        at += read;
      }
    } catch (const UsageError&) {
      compute_block();  // the lines before the refused one
      if (!stopped_) {
        write_out(out_);
        throw;
      }
    }
    write_out(out_);
    return at;
  }

  void compute_block() {
    CaseBlock& block = *block_;
    if (draws_) fill_random();
    operation_.run(operation_, setting_, block);
    size_t count = block.count;
    if (const uint8_t enabled = behaviour_.enabled_flags()) {
      for (size_t row = 0; row < count && !stopped_; ++row) {
        status_ = static_cast<uint8_t>(status_ | block.flags[row]);
        if ((block.flags[row] & enabled) == 0) continue;
        stop_at(row, static_cast<uint8_t>(block.flags[row] & enabled));
        count = row + 1;
      }
    }
    write_cases(block, count, operation_.shape, out_);
    lines_ += count;
  }

  void stop_at(size_t row, uint8_t kinds) {
    ExceptionSite site{operation_.name, lines_ + row, operation_.from, {}, operation_.from_int, 0, 0};
    for (size_t i = 0; i < operation_.shape.operand_digits.size(); ++i)
      site.operands.push_back(block_->operand[i][row]);
    report_ = FloatingPointError(kinds, status_, site).what();
    stopped_ = true;
  }

  void fill_random() {
    const bool wide_lanes = setting_.semantics.narrow.random_bits > 16;
    const uint64_t lanes = wide_lanes ? 4 : 8;
    RandomBlock words{};
    for (size_t i = 0; i < block_->count; ++i) {
      const uint64_t index = lines_ + i, lane = index % lanes;
      if (i == 0 || lane == 0) words = bits_.block(0, 0, index / lanes);
      block_->random[i] = wide_lanes ? words.word[lane] : words.lane16(static_cast<uint32_t>(lane));
    }
  }

  const ComputeOperation& operation_;
  ComputeSetting setting_;
  FloatingPointBehaviour behaviour_;
  RandomBits bits_;
  bool draws_;
  std::unique_ptr<CaseBlock> block_ = std::make_unique<CaseBlock>();
  std::string out_, report_;
  uint64_t lines_ = 0;
  uint8_t status_ = 0;  ///< sticky, as on the device: also what earlier lines raised without stopping
  bool stopped_ = false;
};

int run_compute(const Options& options) {
  const ComputeOperation& operation = find_compute_operation(options.operation);
  const FloatingPointBehaviour behaviour = behaviour_of(options);
  const ComputeSetting setting{semantics_of(options, behaviour), options.exact};
  std::cout.flush();
  return Computation(operation, setting, behaviour, options.rounding.seed).run();
}

}  // namespace

Verb add_compute(CLI::App& program) {
  CLI::App* app =
      program.add_subcommand("compute", "One operation on every line of standard input (TestFloat's format)");
  app->footer(kFooter);
  const auto options = std::make_shared<Options>();
  app->add_option("operation", options->operation, "f16_add, f16_mulAdd, f32_to_f16, ...; see below")
      ->required()
      ->type_name("OP");
  options->rounding.add_preset(*app);
  options->rounding.add_rounding(*app);
  CLI::Option* behaviour =
      app->add_option("--behaviour", options->behaviour_text,
                      "flags that are on in the preset ipu: inv,div0,oflo,esr,nanoo or none [=none]");
  behaviour->type_name("LIST");
  options->rounding.add_bits(*app);
  options->rounding.add_seed(*app);
  app->add_flag("--exact", options->exact, "rounding to an integer raises inexact");
  offer(*app, "operation", [] {
    Words names;
    for (const ComputeOperation& operation : compute_operations()) names.push_back(operation.name);
    return names;
  });
  return {app, [=] {
            options->behaviour_given = behaviour->count() > 0;
            options->rounding_given = app->get_option("--rounding")->count() > 0;
            return run_compute(*options);
          }};
}

}  // namespace softamp::program
