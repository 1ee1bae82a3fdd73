// Updates of optimizers: elements a second, and the bytes that they read and write against those of a memcpy of as many
// bytes. 260,394 elements are the parameters of a small residual net, in the cache; 16 Mi lie in memory.
#include "bench/measure.h"
#include "bench/sets.h"

#include <cstring>
#include <memory>

#include "emu/op_kernel.h"

namespace {

using namespace softamp;
using namespace softamp::bench;

struct Job {
  std::string op;
  DType type;
  bool stochastic;
  size_t n;
  int threads;
  bool flags = false;
  bulk::InstructionSet isa = bulk::InstructionSet::kAuto;
  bool kahan = false;  ///< weight_update kahan: the update alone, then ApplyCompensated
};

/// One kernel over buffers of its own.
class Runner {
 public:
  explicit Runner(const Job& j) : n_(j.n), flags_(j.flags) {
    FloatingPointBehaviour behaviour = FloatingPointBehaviour::all_off();
    behaviour.esr = j.stochastic;
    settings_.environment.semantics = Semantics::ipu(behaviour);
    settings_.threads = j.threads;
    settings_.isa = j.isa;
    const bool adam = j.op == "ApplyAdam";
    const size_t slots = adam ? 2 : 1;
    const TensorType whole{j.type, Shape{static_cast<int64_t>(n_)}}, rate{DType::kFloat32, Shape{}};
    for (size_t k = 0; k < 1 + slots; ++k) input(whole, k == 2 ? 0.25 : 0.0), outputs_.push_back(whole);
    input(rate, 0.01);
    if (adam) input(rate, 0);
    input(whole, 0);
    input({DType::kBool, Shape{}}, 1);
    for (const TensorType& t : outputs_) results_.emplace_back(t.bytes()), out_.push_back(results_.back().data());
    bytes_ = static_cast<double>((2 * outputs_.size() + 1) * whole.bytes());
    const Attributes attributes = {{"momentum", 0.9}, {"use_nesterov", false},
                                   {"beta1", 0.9},    {"beta2", 0.999},
                                   {"epsilon", 1e-8}, {"weight_update", std::string(j.kahan ? "step" : "default")}};
    node_ = {"node", j.op, {}, attributes, outputs_, 1};
    kernel_ = emu::find_kernel(j.op)({node_, types_, settings_, warnings_});
    if (!j.kahan) return;
    const TensorType apply{DType::kBool, Shape{}};
    second_types_ = {whole, whole, whole, apply};
    second_node_ = {"second", "ApplyCompensated", {}, {}, {whole, whole}, 8};
    second_ = emu::find_kernel("ApplyCompensated")({second_node_, second_types_, settings_, warnings_});
    for (int k = 0; k < 2; ++k) results_.emplace_back(whole.bytes()), second_out_.push_back(results_.back().data());
    data_.emplace_back(whole.bytes());  // no compensation yet
    std::memset(data_.back().data(), 0, whole.bytes());
    second_in_ = {in_[0], data_.back().data(), out_[0], in_.back()};
  }
  void operator()() {
    FpStatus status;
    kernel_->run({in_.data(), out_.data(), nullptr, settings_.environment, flags_ ? &status : nullptr});
    if (second_) second_->run({second_in_.data(), second_out_.data(), nullptr, settings_.environment, nullptr});
    benchmark::ClobberMemory();
  }
  double bytes() const { return bytes_; }

 private:
  /// A tensor of the value, or (0) of numbers of both signs around 0.1.
  void input(const TensorType& t, double value) {
    data_.emplace_back(t.bytes());
    char* const to = data_.back().data();
    const size_t size = size_of(t.dtype);
    for (size_t i = 0; i < static_cast<size_t>(t.shape.elements()); ++i) {
      const double x = value != 0 || t.shape.rank() == 0 ? value : (static_cast<double>(i % 4099) - 2000) * 1e-4;
      const uint64_t code = is_floating(t.dtype) ? fp::from_double(format_of(t.dtype), x) : x != 0;
      std::memcpy(to + i * size, &code, size);
    }
    types_.push_back(t);
    in_.push_back(to);
  }

  size_t n_;
  bool flags_;
  emu::EngineSettings settings_;
  std::vector<TensorType> types_, outputs_, second_types_;
  std::vector<std::string> warnings_;
  Node node_, second_node_;
  std::unique_ptr<emu::OpKernel> kernel_, second_;
  std::vector<Array<char>> data_, results_;
  std::vector<const void*> in_, second_in_;
  std::vector<void*> out_, second_out_;
  double bytes_ = 0;
};

void add_job(const Job& j) {
  const std::string name = j.op + " " + name_of(j.type) + (j.stochastic ? " stochastic" : "") +
                           (j.flags ? " with flags" : "") + (j.kahan ? " kahan" : "") + " n=" + std::to_string(j.n) +
                           ", " + std::to_string(j.threads) + (j.threads == 1 ? " thread" : " threads") +
                           (j.isa == bulk::InstructionSet::kAuto ? "" : std::string(" ") + bulk::name(j.isa));
  benchmark::RegisterBenchmark(
      name.c_str(),
      [j, name](benchmark::State& state) {
        Runner subject(j);
        Copy copy(static_cast<size_t>(subject.bytes()) / 8, j.threads);
        const size_t calls = std::max<size_t>(1, (size_t{1} << 21) / j.n);
        Job usual = j;
        usual.kahan = false;
        const std::unique_ptr<Runner> other = j.kahan ? std::make_unique<Runner>(usual) : nullptr;
        subject(), copy();
        std::vector<double> rate, to_memcpy, to_default;
        for (auto _ : state) {
          const double c = seconds([&] { copy(); }, calls), s = seconds([&] { subject(); }, calls);
          state.SetIterationTime(s);
          rate.push_back(static_cast<double>(j.n * calls) / s * 1e-9);
          to_memcpy.push_back(c / s);
          if (other) to_default.push_back(seconds([&] { (*other)(); }, calls) / s);
        }
        state.counters["G/s"] = median(rate);
        state.counters["x_memcpy"] = median(to_memcpy);
        char measured[80];
        std::snprintf(measured, sizeof measured, "%.2f x memcpy (%.2f G/s)", median(to_memcpy), median(rate));
        if (other) {
          state.counters["x_default"] = median(to_default);
          std::snprintf(measured, sizeof measured, "%.2f x default (%.2f G/s)", median(to_default), median(rate));
        }
        keep_table_row({name, "", "", measured, true});
      })
      ->UseManualTime()
      ->Iterations(j.n > (size_t{1} << 20) ? 7 : 31)
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  for (const size_t n : {size_t{260394}, size_t{16} << 20})
    for (const int threads : {1, 2})
      for (const auto isa : bench::shown_sets()) {
        add_job({"ApplyMomentum", DType::kFloat16, true, n, threads, false, isa});
        add_job({"ApplyMomentum", DType::kFloat16, false, n, threads, false, isa});
        add_job({"ApplyMomentum", DType::kFloat32, false, n, threads, false, isa});
        add_job({"ApplyMomentum", DType::kFloat32, false, n, threads, true, isa});
        add_job({"ApplyAdam", DType::kFloat32, false, n, threads, false, isa});
        for (const DType type : {DType::kFloat16, DType::kBFloat16})
          add_job({"ApplyMomentum", type, false, n, threads, false, isa, true});
      }
  return run(argc, argv);
}
