// Steps of a language model: embedding, layer norm, causal attention, gelu, dropout and the tied output, their
// derivatives, and AdamW. The first steps are looked into, and every tensor of their graphs must have the same hash; in
// the later ones, which a GPU records and replays, everything that a trainer keeps or reports.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>

#include "parity_steps.h"
#include "softamp/graph/trace.h"
#include "softamp/train/gpt.h"
#include "softamp/train/losses.h"

namespace softamp::parity {
namespace {

constexpr Mode kTextModes[] = {{"float32", "float32", false, false},
                               {"mixed half partials", "mixed", false, true},
                               {"float16 nearest", "float16", false, false},
                               {"float16 stochastic half partials", "float16", true, true},
                               {"bfloat16 stochastic", "bfloat16", true, false}};

struct TextSize {
  GptOptions gpt;
  int64_t batch;
  int steps;
};
/// Kernels that run serially on the host get heads of three units, five tokens, and a vocabulary that no lane divides.
TextSize text_size(int64_t elements) {
  GptOptions o{.vocabulary = 13, .context = 5, .layers = 2, .heads = 2, .units = 6, .dropout = 0.25};
  if (elements <= 1000000) return {o, 2, 6};
  o = gpt_tiny_options();
  o.dropout = 0.1;
  return {o, 4, 12};
}

Model text_model(const Mode& mode, const TextSize& size) {
  ModelInputs in;
  in.inputs = in.labels = {DType::kInt32, {size.batch, size.gpt.context}};
  in.precision = Precision::parse(mode.precision);
  return build_model(gpt(size.gpt), find_loss("sparse_categorical_crossentropy_from_logits"), in);
}

/// AdamW, with what 16 bits do not hold in float32, and a loss scale that grows.
TrainerOptions text_options(const Mode& mode, const std::string& backend) {
  TrainerOptions o = options_of(mode, backend);
  o.optimizer = OptimizerOptions::of(OptimizerKind::kAdamW);
  o.optimizer.weight_decay = 0.1;
  o.optimizer.decay_matrices_only = true;
  o.optimizer.state = o.optimizer.hyperparameters = DType::kFloat32;
  o.loss_scale = LossScaleOptions::tensorflow();
  o.loss_scale.initial = 128;
  o.loss_scale.window = 2;
  o.clipping.global_norm = 1;
  return o;
}

/// Tokens cannot be infinite; so a weight is, for one step, which is not applied then.
class InfiniteWeight {
 public:
  explicit InfiniteWeight(Trainer& trainer) : trainer_(trainer), kept_(trainer.variable(kName).clone()) {
    Tensor wrong = kept_.clone();
    const uint64_t infinity = format_of(wrong.dtype()).infinity_code();
    std::memcpy(wrong.data(), &infinity, size_of(wrong.dtype()));
    trainer_.set_variable(kName, wrong);
  }
  ~InfiniteWeight() { trainer_.set_variable(kName, kept_); }
  InfiniteWeight(const InfiniteWeight&) = delete;
  InfiniteWeight& operator=(const InfiniteWeight&) = delete;

 private:
  static constexpr const char* kName = "position_embedding/positions";
  Trainer& trainer_;
  Tensor kept_;
};

Batch text_batch(const TextSize& size, int step) {
  const auto seed = static_cast<uint64_t>(step);
  const auto last = static_cast<int32_t>(size.gpt.vocabulary - 1);
  const Shape shape{size.batch, size.gpt.context};
  return {integers(shape, seed, 0, last), integers(shape, 99 + seed, 0, last)};
}

/// Hashes of every tensor of a step, in order, each with its phase, node and operation.
class Hashes {
 public:
  void begin(Trainer& trainer) {
    trainer.observe([this](std::string_view phase, int replica, uint32_t execution, const Node& node, int port,
                           const TensorType& type, const void* data) {
      operations_.insert(node.op);
      all_.push_back(std::string(phase) + " " + std::to_string(replica) + " " + std::to_string(execution) + " " +
                     node.op + " '" + node.name + "':" + std::to_string(port) + " " + type.text() + " " +
                     hash_text(data, type.bytes()));
      elements_ += static_cast<uint64_t>(type.shape.elements());
    });
  }
  const std::vector<std::string>& all() const { return all_; }
  const std::set<std::string>& operations() const { return operations_; }
  uint64_t elements() const { return elements_; }

 private:
  std::vector<std::string> all_;
  std::set<std::string> operations_;
  uint64_t elements_ = 0;
};

std::string first_difference(const std::vector<std::string>& expected, const std::vector<std::string>& found) {
  const auto [a, b] = std::mismatch(expected.begin(), expected.end(), found.begin(), found.end());
  if (a == expected.end() && b == found.end()) return {};
  return "expected " + (a == expected.end() ? "no more tensors" : *a) + "; found " +
         (b == found.end() ? "no more tensors" : *b);
}

/// The operations without which the case is not that of a transformer.
std::string missing_of(const std::set<std::string>& operations) {
  for (const char* op : {"GatherV2", "LayerNorm", "BatchMatMulV2", "Softmax", "Gelu", "ApplyAdam"})
    if (!operations.contains(op)) return std::string("no ") + op + " was met";
  return {};
}

std::string run_text(const Mode& mode, const TextSize& size, const std::string& backend, uint64_t& elements,
                     std::string& given) {
  Trainer emu(text_model(mode, size), text_options(mode, "emu")),
      other(text_model(mode, size), text_options(mode, backend));
  constexpr int kObserved = 2, kSkipped = 4;  // the third that is not looked into: a recording, played again
  Hashes expected_hashes, found_hashes;
  expected_hashes.begin(emu);
  found_hashes.begin(other);
  std::array<int, 2> seen{};
  double last_loss = 0;
  for (int step = 0; step < size.steps; ++step) {
    if (step == kObserved) {
      emu.observe(nullptr);
      other.observe(nullptr);
    }
    std::optional<InfiniteWeight> in_emu, in_other;
    if (step == kSkipped) {
      in_emu.emplace(emu);
      in_other.emplace(other);
    }
    const Batch batch = text_batch(size, step);
    const StepResult expected = emu.step({&batch, 1}), found = other.step({&batch, 1});
    ++seen[expected.applied];
    if (expected.applied) last_loss = expected.loss;
    given += text_of_step(found);
    const std::string place = "step " + std::to_string(step) + ": ";
    if (text_of_step(expected) != text_of_step(found))
      return place + "expected " + text_of_step(expected) + "; found " + text_of_step(found);
    if (step < kObserved)
      if (const std::string d = first_difference(expected_hashes.all(), found_hashes.all()); !d.empty())
        return place + d;
    if (const std::string d = difference_between(emu.state(), other.state(), elements); !d.empty()) return place + d;
  }
  elements += expected_hashes.elements();
  for (const std::string& hash : found_hashes.all()) given += hash;
  const Batch batch = text_batch(size, 0);
  const Tensor logits = other.logits(batch.images);
  given += hash_text(logits.data(), logits.bytes());
  if (const std::string d = difference_of(emu.logits(batch.images), logits); !d.empty()) return "logits: " + d;
  if (seen[0] == 0 || seen[1] == 0) return "not a step of each kind: applied, skipped";
  if (!std::isfinite(last_loss)) return "the loss is not finite: nothing is compared but NaNs";
  return missing_of(expected_hashes.operations());
}

}  // namespace

void transformer(Suite& suite) {
  const TextSize size = text_size(suite.elements());
  for (const Mode& mode : kTextModes) {
    const std::string name = std::string("gpt ") + mode.name + " adamw";
    if (!suite.wants(name)) continue;
    std::string difference, given;
    uint64_t elements = 0;
    try {
      difference = run_text(mode, size, suite.backend(), elements, given);
    } catch (const std::exception& error) {
      difference = error.what();
    }
    suite.note(name, difference, elements, given);
  }
}

}  // namespace softamp::parity
