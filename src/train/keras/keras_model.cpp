// Keras' Model: a Trainer for each batch size, of which the last one used holds the state.
#include "softamp/train/keras/keras_model.h"

#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>

#include "softamp/data/sampler.h"
#include "softamp/machine/float_environment.h"
#include "src/machine/progress.h"
#include "src/text/joined.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/train/cast_node.h"

namespace softamp {
namespace {

constexpr const char* kAccuracy = "accuracy";

[[noreturn]] void refuse(const std::string& message) { throw std::invalid_argument("KerasModel: " + message); }

/// Samples along axis 0, as a graph takes them.
class Samples {
 public:
  Samples(const char* what, const Tensor& all) : what_(what), all_(&all) {
    if (all.shape().rank() == 0) refuse(std::string(what) + " is a scalar; expected samples along axis 0");
    if (count() == 0) refuse(std::string(what) + " is " + all.type().text() + "; expected at least one sample");
    if (all.dtype() == DType::kString) refuse(std::string(what) + " holds strings; expected numbers");
    if (all.dtype() == DType::kInt64 || all.dtype() == DType::kUint8) to_int32();
  }

  int64_t count() const { return all_->shape()[0]; }
  /// Of a batch of `size` samples.
  TensorType type(int64_t size) const {
    std::vector<int64_t> extents(all_->shape().begin(), all_->shape().end());
    extents[0] = size;
    return {all_->dtype(), Shape(extents)};
  }
  Tensor take(std::span<const int64_t> samples) const {
    Tensor batch(type(static_cast<int64_t>(samples.size())));
    const size_t bytes = all_->bytes() / static_cast<size_t>(count());
    const auto* from = static_cast<const std::byte*>(all_->data());
    auto* to = static_cast<std::byte*>(batch.data());
    for (const int64_t sample : samples) {
      if (bytes) std::memcpy(to, from + static_cast<size_t>(sample) * bytes, bytes);
      to += bytes;
    }
    return batch;
  }

 private:
  /// Graphs have no arithmetic for these two.
  void to_int32() {
    Tensor converted(DType::kInt32, all_->shape());
    const auto out = converted.as<int32_t>();
    for (size_t i = 0; i < out.size(); ++i) {
      const int64_t value = all_->dtype() == DType::kUint8 ? all_->as<uint8_t>()[i] : all_->as<int64_t>()[i];
      out[i] = static_cast<int32_t>(value);
      if (out[i] != value)
        refuse(std::string(what_) + ", element " + std::to_string(i) + ", is " + std::to_string(value) +
               "; expected what an int32 holds");
    }
    converted_ = std::move(converted);
    all_ = &converted_;
  }

  const char* what_;
  const Tensor* all_;
  Tensor converted_;
};

void check_pair(const Samples& x, const Samples& y) {
  if (x.count() != y.count())
    refuse("x has " + std::to_string(x.count()) + " samples and y " + std::to_string(y.count()) +
           "; expected as many labels as samples");
}

int64_t checked_size(int64_t batch_size) {
  if (batch_size < 1) refuse("batch_size is " + std::to_string(batch_size) + "; expected 1 or more");
  return batch_size;
}

/// Keras' accuracies by the shapes: how many samples (or places, of sequences) are right.
double accuracy(const Tensor& labels, const Tensor& outputs) {
  const Shape& shape = outputs.shape();
  const int64_t classes = shape.rank() > 1 ? shape[shape.rank() - 1] : 1;
  const int64_t rows = outputs.elements() / std::max<int64_t>(classes, 1);
  if (rows == 0) return 0;
  const auto greatest = [classes](const Tensor& t, int64_t row) {
    int64_t best = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const double value = t.value(row * classes + c);
      if (value != value) return int64_t{-1};
      if (value > t.value(row * classes + best)) best = c;
    }
    return best;
  };
  const bool sparse = classes > 1 && labels.shape() != shape;
  if (labels.elements() != (sparse ? rows : rows * classes))
    refuse("metric accuracy: the labels are " + labels.type().text() + " and the outputs " + outputs.type().text() +
           "; expected labels of the outputs' shape, or one for each row");
  int64_t right = 0;
  for (int64_t r = 0; r < rows; ++r)
    if (classes == 1)
      right += labels.value(r) == static_cast<double>(outputs.value(r) > 0.5);
    else if (const int64_t found = greatest(outputs, r); found >= 0)
      right += sparse ? labels.value(r) == static_cast<double>(found) : greatest(labels, r) == found;
  return static_cast<double>(right) / static_cast<double>(rows);
}

TrainerOptions trainer_options(const AnyOptimizer& optimizer, TrainerOptions base) {
  return std::visit(
      [&]<class Optimizer>(const Optimizer& o) -> TrainerOptions {
        if constexpr (std::is_same_v<Optimizer, std::string>) {
          refuse("optimizer '" + files::excerpt(o) + "': expected an optimizer of Keras or of tf.train");
        } else if constexpr (requires { o.inner_optimizer(); }) {
          return o.trainer_options(std::move(base));
        } else {
          base.executor = with_preset(std::move(base.executor), Preset::kIeee);
          base.optimizer = o.options;
          base.loss_scale = LossScaleOptions::none();
          return std::move(base);
        }
      },
      optimizer);
}

}  // namespace

struct KerasModel::Impl {
  /// A loss as a metric: a graph from outputs and labels to its mean.
  class LossMetric {
   public:
    LossMetric(const LossFunction& loss, const TensorType& labels, const TensorType& outputs, ExecutorOptions options) {
      GraphBuilder b;
      const Port y = b.placeholder("labels", labels.dtype, labels.shape);
      Port p = b.placeholder("outputs", outputs.dtype, outputs.shape);
      p = cast_to(b, p, wide_dtype(outputs.dtype));
      b.add_named("loss", "Mean", {loss(b, y, p)}, {});
      executor_ = make_executor(b.build(), std::move(options));
    }
    double operator()(const Tensor& labels, const Tensor& outputs) {
      const std::vector<Feed> feeds{{"labels", &labels}, {"outputs", &outputs}};
      const std::vector<std::string> fetches{"loss"};
      return executor_->run(feeds, fetches).values[0].value(0);
    }

   private:
    std::unique_ptr<Executor> executor_;
  };

  MixedPrecisionContext& precision;
  LayerNetwork network;
  std::optional<LossFunction> loss;
  std::vector<std::pair<std::string, LossFunction>> metrics;  ///< an empty function: accuracy
  CompileOptions options;

  struct Sized {
    std::unique_ptr<Trainer> trainer;
    std::vector<std::unique_ptr<LossMetric>> metrics;
  };
  std::map<int64_t, Sized> sizes;
  Sized* current = nullptr;
  std::optional<TensorType> x_type, y_type;  ///< of one sample
  int64_t epochs = 0;                        ///< begun by all calls of fit
  bool said_nan = false;

  /// A model that has not been fitted.
  static Impl compiled(MixedPrecisionContext& precision, LayerNetwork network, const AnyOptimizer& optimizer,
                       const AnyLoss& chosen, CompileOptions given) {
    LossFunction found = loss_function(chosen);
    std::vector<std::pair<std::string, LossFunction>> measured;
    for (const std::string& name : given.metrics)
      measured.emplace_back(name, name == kAccuracy ? LossFunction() : metric(name));
    const TrainerOptions& base = given.trainer;
    for (const auto& [what, number] : {std::pair{"replicas", base.replicas}, {"accumulation", base.accumulation}})
      if (number != 1)
        refuse(std::string("trainer.") + what + " is " + std::to_string(number) +
               "; expected 1: others need a Trainer (train/trainer.h)");
    if (base.pass) refuse("trainer.pass is given; expected none: the mechanism that is on in the context acts");
    given.trainer = trainer_options(compiled_optimizer(precision.global_policy(), optimizer), std::move(given.trainer));
    given.trainer.pass = precision.pass();
    given.trainer.precision = &precision;
    given.trainer.optimizer.validate();
    return {precision, std::move(network), std::move(found), std::move(measured), std::move(given), {}, {}, {}, {}, 0};
  }

  static LossFunction metric(const std::string& name) {
    try {
      return find_loss(name);
    } catch (const std::invalid_argument&) {
      std::vector<std::string> known = loss_names();
      known.insert(known.begin(), kAccuracy);
      refuse("unknown metric '" + files::excerpt(name) + "'; expected one of " + joined(known) +
             graph_detail::nearest_of(name, known));
    }
  }

  void require_compiled() const {
    if (!loss) throw std::logic_error("KerasModel: no loss yet; expected compile() first");
  }

  /// The trainer for batches of this size, with the present state.
  Sized& at(int64_t size) {
    Sized& found = sizes[size];
    if (!found.trainer) {
      const ModelInputs inputs{of_size(*x_type, size), of_size(*y_type, size), {}, options.loss_in_float32};
      found.trainer = std::make_unique<Trainer>(build_layer_model(network, precision, *loss, inputs), options.trainer);
    }
    if (current && current != &found) found.trainer->set_state(current->trainer->state());
    current = &found;
    return found;
  }

  static TensorType of_size(const TensorType& sample, int64_t size) {
    std::vector<int64_t> extents(sample.shape.begin(), sample.shape.end());
    extents[0] = size;
    return {sample.dtype, Shape(extents)};
  }

  void remember(const char* what, std::optional<TensorType>& known, const Samples& samples) const {
    const TensorType found = samples.type(1);
    if (current && known && *known != found)
      refuse(std::string(what) + " has samples of type " + found.text() + "; expected " + known->text() +
             " as in the call before");
    known = found;
  }

  /// The first loss of NaN since compile.
  void note_loss(double value, int64_t epoch, int64_t step) {
    if (value == value || said_nan) return;
    said_nan = true;
    precision.log(LogLevel::kWarning, "fit: the loss is NaN at step " + std::to_string(step) + " of epoch " +
                                          std::to_string(epoch) +
                                          "; expected a number: a lower learning rate, or inputs and weights without "
                                          "NaN and infinities");
  }

  History fit(const Samples& x, const Samples& y, const FitOptions& o) {
    check_pair(x, y);
    if (o.epochs < 0) refuse("epochs is " + std::to_string(o.epochs) + "; expected 0 or more");
    if (!o.validation_x != !o.validation_y) refuse("one of validation_x, validation_y is given; expected both or none");
    remember("x", x_type, x);
    remember("y", y_type, y);
    const int64_t n = x.count(), size = std::min(checked_size(o.batch_size), n);
    const Sampler order(n, 1, o.shuffle, options.trainer.executor.seed);
    const int64_t steps = (n + size - 1) / size;
    Progress progress("fit", static_cast<uint64_t>(o.progress ? o.epochs * steps : 0), "steps");
    History history;
    std::vector<int64_t> samples;
    for (int64_t e = 0; e < o.epochs; ++e) {
      const int64_t first = epochs++ * n;
      double sum = 0;
      for (int64_t s = 0; s < steps; ++s) {
        samples.clear();
        for (int64_t i = s * size; i < std::min(n, (s + 1) * size); ++i) samples.push_back(order.image(first + i));
        const auto count = static_cast<int64_t>(samples.size());
        const Batch batch{x.take(samples), y.take(samples)};
        const StepResult step = at(count).trainer->step({&batch, 1});
        note_loss(step.loss, e, s);
        sum += step.loss * static_cast<double>(count);
        if (o.progress) progress.update(static_cast<uint64_t>(e * steps + s + 1));
        if (o.on_step && !o.on_step(step)) return history;
      }
      std::map<std::string, double> values{{"loss", sum / static_cast<double>(n)}};
      if (o.validation_x)
        for (const auto& [name, value] :
             evaluate(Samples("validation_x", *o.validation_x), Samples("validation_y", *o.validation_y), o.batch_size))
          values["val_" + name] = value;
      for (const auto& [name, value] : values) history[name].push_back(value);
      if (o.on_epoch && !o.on_epoch(e, values)) break;
    }
    return history;
  }

  /// Calls act(first sample, batch's samples) over all, batch by batch.
  template <class Act>
  static void batches(int64_t n, int64_t batch_size, Act act) {
    std::vector<int64_t> samples;
    for (int64_t first = 0; first < n; first += checked_size(batch_size)) {
      samples.clear();
      for (int64_t i = first; i < std::min(n, first + batch_size); ++i) samples.push_back(i);
      act(first, std::span<const int64_t>(samples));
    }
  }

  std::map<std::string, double> evaluate(const Samples& x, const Samples& y, int64_t batch_size) {
    check_pair(x, y);
    remember("x", x_type, x);
    remember("y", y_type, y);
    checked_size(batch_size);
    std::map<std::string, double> values;
    batches(x.count(), batch_size, [&](int64_t, std::span<const int64_t> samples) {
      const Batch batch{x.take(samples), y.take(samples)};
      Sized& sized = at(static_cast<int64_t>(samples.size()));
      const Trainer::Forward forward = sized.trainer->forward(batch);
      const double share = static_cast<double>(samples.size()) / static_cast<double>(x.count());
      values["loss"] += share * forward.loss;
      for (size_t m = 0; m < metrics.size(); ++m)
        values[metrics[m].first] += share * measure(sized, m, batch.labels, forward.logits);
    });
    return values;
  }

  double measure(Sized& sized, size_t m, const Tensor& labels, const Tensor& outputs) const {
    if (!metrics[m].second) return accuracy(labels, outputs);
    sized.metrics.resize(metrics.size());
    if (!sized.metrics[m]) {
      ExecutorOptions plain;
      plain.semantics = Semantics::ieee();
      sized.metrics[m] = std::make_unique<LossMetric>(metrics[m].second, labels.type(), outputs.type(), plain);
    }
    return (*sized.metrics[m])(labels, outputs);
  }

  Tensor predict(const Samples& x, int64_t batch_size) {
    if (!current)
      throw std::logic_error("KerasModel: the types of y are not known yet; expected fit or evaluate first");
    remember("x", x_type, x);
    checked_size(batch_size);
    Tensor all;
    batches(x.count(), batch_size, [&](int64_t first, std::span<const int64_t> samples) {
      const Tensor part = at(static_cast<int64_t>(samples.size())).trainer->logits(x.take(samples));
      if (first == 0) all = Tensor(of_size(part.type(), x.count()));
      const size_t row = part.bytes() / samples.size();
      if (row)
        std::memcpy(static_cast<std::byte*>(all.data()) + static_cast<size_t>(first) * row, part.data(), part.bytes());
    });
    return all;
  }
};

KerasModel::KerasModel(MixedPrecisionContext& precision, LayerNetwork network)
    : impl_(new Impl{precision, std::move(network), {}, {}, {}, {}, {}, {}, {}, 0, false}) {
  if (!impl_->network) refuse("the network is empty; expected a function from inputs to outputs");
}
KerasModel::~KerasModel() = default;

void KerasModel::compile(const AnyOptimizer& optimizer, const AnyLoss& loss, CompileOptions options) {
  const engine::DefaultEnvironment guard;
  impl_.reset(new Impl(Impl::compiled(impl_->precision, impl_->network, optimizer, loss, std::move(options))));
}

History KerasModel::fit(const Tensor& x, const Tensor& y, const FitOptions& options) {
  const engine::DefaultEnvironment guard;
  impl_->require_compiled();
  return impl_->fit(Samples("x", x), Samples("y", y), options);
}

std::map<std::string, double> KerasModel::evaluate(const Tensor& x, const Tensor& y, int64_t batch_size) {
  const engine::DefaultEnvironment guard;
  impl_->require_compiled();
  return impl_->evaluate(Samples("x", x), Samples("y", y), batch_size);
}

Tensor KerasModel::predict(const Tensor& x, int64_t batch_size) {
  const engine::DefaultEnvironment guard;
  impl_->require_compiled();
  return impl_->predict(Samples("x", x), batch_size);
}

Trainer& KerasModel::trainer() {
  if (!impl_->current) throw std::logic_error("KerasModel: no trainer yet; expected fit or evaluate first");
  return *impl_->current->trainer;
}

}  // namespace softamp
