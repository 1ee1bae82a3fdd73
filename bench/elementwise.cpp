// Element-wise kernels against memcpy's byte rate in the same run, with and without flags, and tiny tensors.
//
// x_memcpy is the ratio of bytes read and written per second to those of a memcpy by as many threads. Tensors past the
// cache have 2^26 elements of 16 bits or 2^25 of 32.
#include <memory>
#include <optional>

#include "bench/measure.h"
#include "bench/normal_values.h"
#include "bench/sets.h"
#include "emu/op_kernel.h"
#include "softamp/chips/chip_table.h"
#include "softamp/engine/settings.h"
#include "softamp/numerics/chips.h"

namespace {

using namespace softamp;
using namespace softamp::bench;

constexpr size_t kBytes = size_t{1} << 27;  // of an array past the cache

/// Arrays that all benchmarks share: normal numbers as fp32, fp16 and bf16.
struct Data {
  Data() : wide(kBytes / 4), narrow(kBytes / 2), brain(kBytes / 2), out(kBytes / 4) {
    constexpr size_t kPeriod = size_t{1} << 18;
    fill_normal<float>(wide, kPeriod);
    for (size_t i = 0; i < narrow.size(); ++i) {
      if (i >= kPeriod) {
        narrow[i] = narrow[i - kPeriod], brain[i] = brain[i - kPeriod];
      } else {
        narrow[i] = static_cast<uint16_t>(fp::from_float(kFp16, wide[i]));
        brain[i] = static_cast<uint16_t>(fp::from_float(kBf16, wide[i]));
      }
    }
  }
  const void* of(DType t) const {
    return t == DType::kFloat16    ? static_cast<const void*>(narrow.data())
           : t == DType::kBFloat16 ? static_cast<const void*>(brain.data())
                                   : wide.data();
  }
  Array<float> wide;
  Array<uint16_t> narrow, brain;
  Array<float> out;
};
Data& data() {
  static Data d;
  return d;
}

struct Job {
  std::string op;
  DType from, to;
  int operands = 1;
  int threads = 2;
  bool flags = false, stochastic = false;
  int64_t rows = 0;  ///< the second operand is a row of this many channels
  size_t n = 0;      ///< [=0: past the cache]
  double at_least = 0, elements_a_core = 0;
  bool positive = false;  ///< the first operand's magnitudes
  bulk::InstructionSet isa = bulk::InstructionSet::kAuto;
  std::optional<Chip> chip = {};  ///< whose rounding to `to` results have
};

class Runner {
 public:
  explicit Runner(const Job& j) : n_(j.n ? j.n : kBytes / std::max(size_of(j.from), size_of(j.to))), flags_(j.flags) {
    FloatingPointBehaviour behaviour = FloatingPointBehaviour::all_off();
    behaviour.esr = j.stochastic;
    ExecutorOptions options;
    options.semantics = j.chip ? chip_semantics(*j.chip, format_of(j.to)) : Semantics::ipu(behaviour);
    options.threads = j.threads;
    options.isa = j.isa;
    settings_ = engine::settings_of(options);
    const int64_t n = static_cast<int64_t>(n_);
    Shape shape{n};
    if (j.rows) shape = Shape{n / j.rows, j.rows};
    types_.assign(static_cast<size_t>(j.operands), {j.from, shape});
    if (j.rows) types_[1].shape = Shape{j.rows};
    Attributes attributes = {{"approximate", false}, {"alpha", 0.2}, {"minval", 0.0},
                             {"maxval", 1.0},        {"mean", 0.0},  {"stddev", 1.0}};
    node_ = {"node", j.op, {}, attributes, {{j.to, shape}}, 0};
    kernel_ = emu::find_kernel(j.op)({node_, types_, settings_, warnings_});
    const char* const base = static_cast<const char*>(data().of(j.from));
    for (int k = 0; k < 3; ++k) in_[k] = base;
    bytes_ = static_cast<double>(n_ * size_of(j.to));
    for (int k = 0; k < j.operands; ++k) bytes_ += static_cast<double>(types_[static_cast<size_t>(k)].bytes());
    // Two different operands: the second from the middle of another period.
    if (j.positive) {
      first_.assign(base, base + n_ * size_of(j.from));
      for (size_t i = size_of(j.from) - 1; i < first_.size(); i += size_of(j.from)) first_[i] &= 0x7F;
      in_[0] = first_.data();
    }
    if (j.operands == 2 && !j.rows) second_.assign(base, base + n_ * size_of(j.from)), in_[1] = second_.data();
    out_[0] = data().out.data();
  }
  void operator()() {
    FpStatus status;
    kernel_->run({in_, out_, nullptr, settings_.environment, flags_ ? &status : nullptr});
    benchmark::ClobberMemory();
  }
  size_t elements() const { return n_; }
  double bytes() const { return bytes_; }

 private:
  size_t n_;
  bool flags_;
  emu::EngineSettings settings_;
  std::vector<TensorType> types_;
  std::vector<std::string> warnings_;
  Node node_;
  std::unique_ptr<emu::OpKernel> kernel_;
  Array<char> first_, second_;
  const void* in_[3];
  void* out_[1];
  double bytes_;
};

std::string name_of(const Job& j) {
  std::string name = j.op + " " + softamp::name_of(j.from);
  if (j.to != j.from) name += std::string(" to ") + softamp::name_of(j.to);
  if (j.rows) name += " + row of " + std::to_string(j.rows);
  if (j.stochastic) name += " stochastic";
  if (j.chip) name += std::string(" ") + softamp::name_of(*j.chip);
  if (j.flags) name += " with flags";
  name += j.n ? " n=" + std::to_string(j.n) : "";
  if (j.isa != bulk::InstructionSet::kAuto) name += std::string(" ") + bulk::name(j.isa);
  return name + (j.threads == 1 ? ", 1 thread" : ", " + std::to_string(j.threads) + " threads");
}

void add_job(const Job& j) {
  const std::string name = name_of(j);
  benchmark::RegisterBenchmark(
      name.c_str(),
      [j, name](benchmark::State& state) {
        Runner subject(j);
        Job plain = j;
        plain.flags = false;
        std::unique_ptr<Runner> baseline = j.flags ? std::make_unique<Runner>(plain) : nullptr;
        constexpr size_t kCopied = kBytes / 4;
        Copy copy(kCopied, j.threads);
        const size_t calls = j.n ? std::max<size_t>(1, (size_t{1} << 22) / j.n) : 1;
        subject(), copy();
        std::vector<double> rate, to_memcpy, to_baseline, nanoseconds;
        for (auto _ : state) {
          const double c = seconds([&] { copy(); }, 1),
                       s = seconds([&] { subject(); }, calls) / static_cast<double>(calls);
          state.SetIterationTime(s);
          rate.push_back(static_cast<double>(subject.elements()) / s * 1e-9);
          nanoseconds.push_back(s * 1e9);
          to_memcpy.push_back(subject.bytes() / s / (8.0 * kCopied / c));
          if (baseline) to_baseline.push_back(seconds([&] { (*baseline)(); }, calls) / static_cast<double>(calls) / s);
        }
        state.counters["G/s"] = median(rate);
        state.counters["x_memcpy"] = median(to_memcpy);
        char target[48] = "", measured[64];
        bool met = true;
        if (j.flags) {
          state.counters["x_without"] = median(to_baseline);
          std::snprintf(target, sizeof target, ">= 0.87 x without");
          std::snprintf(measured, sizeof measured, "%.2f (%.2f x memcpy)", median(to_baseline), median(to_memcpy));
          met = median(to_baseline) >= 0.87;
        } else if (j.elements_a_core > 0) {
          std::snprintf(target, sizeof target, ">= %.2f G/s a core", j.elements_a_core);
          std::snprintf(measured, sizeof measured, "%.2f G/s", median(rate));
          met = median(rate) >= j.elements_a_core * j.threads;
        } else if (j.n && j.n <= 64) {
          std::snprintf(target, sizeof target, "< 1000 ns");
          std::snprintf(measured, sizeof measured, "%.0f ns", median(nanoseconds));
          met = median(nanoseconds) < 1000;
        } else {
          if (j.at_least > 0) std::snprintf(target, sizeof target, ">= %.2f x memcpy", j.at_least);
          std::snprintf(measured, sizeof measured, "%.2f (%.2f G/s)", median(to_memcpy), median(rate));
          met = median(to_memcpy) >= j.at_least;
        }
        keep_table_row({name, target, "", measured, met});
      })
      ->UseManualTime()
      ->Iterations(j.n ? 31 : 7)
      ->Unit(benchmark::kMicrosecond);
}

void register_all() {
  using enum DType;
  for (const DType t : {kFloat16, kBFloat16, kFloat32}) {
    for (const char* op : {"AddV2", "Mul"}) {
      Job j{op, t, t, 2};
      j.at_least = 0.6;
      add_job(j);
      j.flags = true;
      add_job(j);
    }
    Job relu{"Relu", t, t};
    relu.at_least = 0.6;
    add_job(relu);
    relu.flags = true;
    add_job(relu);
    Job bias{"BiasAdd", t, t, 2};
    for (const int64_t channels : {16, 1000, 4096}) {
      bias.rows = channels;
      add_job(bias);
    }
    for (const char* op : {"Exp", "Tanh", "Sigmoid"}) {
      Job j{op, t, t};
      j.at_least = 0.3;
      add_job(j);
      j.flags = true;
      add_job(j);
    }
    for (const char* op : {"Log", "Gelu", "Pow"}) {
      Job j{op, t, t, op[0] == 'P' ? 2 : 1, 1};
      j.positive = op[0] != 'G';
      j.n = 16384;
      j.elements_a_core = op[0] == 'P' ? 0.6 : 0.5;
      add_job(j);
      if (op[0] != 'P' || bench::shown_sets().size() == 1) continue;
      j.isa = bulk::InstructionSet::kAvx2;
      j.elements_a_core = 0.3;
      add_job(j);
    }
    for (const char* op : {"Sqrt", "Rsqrt", "TanhGrad", "ReluGrad", "Maximum", "RealDiv"}) {
      const bool one = op[1] == 'q' || op[1] == 's';
      add_job({op, t, t, one ? 1 : 2});
    }
    Job tiny{t == kFloat32 ? "Mul" : "AddV2", t, t, 2, 1};
    tiny.n = 64;
    add_job(tiny);
  }
  for (const auto& [from, to] : {std::pair{kFloat32, kFloat16},
                                 {kFloat16, kFloat32},
                                 {kFloat32, kBFloat16},
                                 {kBFloat16, kFloat32},
                                 {kFloat32, kInt32},
                                 {kInt32, kFloat32}}) {
    Job j{"Cast", from, to};
    j.at_least = 0.6;
    add_job(j);
    j.flags = true;
    if (from == kFloat32) add_job(j);
  }
  Job stochastic{"AddV2", kFloat16, kFloat16, 2};
  stochastic.stochastic = true;
  add_job(stochastic);
  stochastic.op = "Exp", stochastic.operands = 1;
  add_job(stochastic);
  const std::pair<Chip, DType> chips[] = {
      {Chip::kIntelXe, kFloat16}, {Chip::kTenstorrentWh, kBFloat16}, {Chip::kAmdCdna4, kBFloat16}};
  for (const auto& [chip, t] : chips)
    for (const char* op : {"Cast", "AddV2", "Mul", "Relu", "Exp"})
      for (const auto isa : bench::shown_sets()) {
        Job j{op, op[0] == 'C' ? kFloat32 : t, t, op[0] == 'A' || op[0] == 'M' ? 2 : 1};
        j.n = size_t{1} << 20;
        j.chip = chip, j.isa = isa;
        add_job(j);
      }
  for (const DType t : {kFloat16, kFloat32})
    for (const char* op : {"RandomUniform", "RandomStandardNormal"}) add_job({op, t, t, 0});
}

}  // namespace

int main(int argc, char** argv) {
  register_all();
  return run(argc, argv);
}
