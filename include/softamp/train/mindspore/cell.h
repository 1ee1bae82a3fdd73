// Cells: networks as MindSpore writes them (MIXED_PRECISION M04, M07 to M10). A cell is an object that adds its part of
// a network to a graph; cells hold cells, and each has its own compute dtype.
//
//   struct Net : cells::Cell {
//     cells::Dense dense{*this, "dense", 512, 128};
//     Port construct(cells::CellBuild& build, std::span<const Port> inputs) override {
//       return build.builder().add("Relu", {dense(build, inputs[0])});
//     }
//   };
//   Net net;
//   net.to_float(DType::kFloat16);        // all of it
//   net.dense.to_float(DType::kFloat32);  // but this: the last call wins
//
// A cell that computes in a dtype casts its floating inputs to it on entry ("input_cast"), and its parameters, which
// are float32, where it uses them ("weight_cast"). A cell on which to_float was never called casts nothing. Inputs of
// operations that construct adds itself are not cast: different dtypes are an error, never a promotion.
//
// A cell that is called twice in one graph shares its parameters. Images are MindSpore's [batch, channels, height,
// width], or, where a cell's data_format says so, [batch, height, width, channels] as in the rest of softamp.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "softamp/precision/layer_rule.h"
#include "softamp/train/variable.h"

namespace softamp::cells {

/// What cells are built into.
struct CellBuild {
  VariableStore& store;
  bool training = true;  ///< norms take the statistics of the batch, and move their averages

  GraphBuilder& builder() const { return store.builder(); }
};

class Cell {
 public:
  Cell() = default;  ///< the outermost: its parameters have no prefix
  /// A part of `parent`, which is usually the object that it is a member of; parameters are "<parent>/<name>/...".
  /// Throws std::invalid_argument where parent has a cell of this name.
  Cell(Cell& parent, std::string name);
  virtual ~Cell();  ///< removes it from its parent
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  /// This cell and all within compute in `dtype` (float32, float16; where not strict: bfloat16); overrides earlier
  /// calls. Throws std::invalid_argument "dst_type should inside float32 or float16." for another.
  Cell& to_float(DType dtype);
  /// This cell, all within and those that are made within it later refuse what MindSpore refuses (Context::strict calls
  /// this): bfloat16. Throws as to_float where one of them computes in it already.
  Cell& set_strict();
  bool strict() const { return strict_; }
  /// What the last to_float set.
  const std::optional<DType>& compute_dtype() const { return compute_; }
  /// The result is cast to this dtype [=none: as computed]; levels set it on norms (MIXED_PRECISION M04). Only for this
  /// cell.
  Cell& set_output(std::optional<DType> dtype);
  const std::optional<DType>& output_dtype() const { return output_; }

  /// Adds the cell's nodes, in a scope of its name. Throws GraphError or DtypeMismatchError for inputs that do not fit.
  Port operator()(CellBuild& build, std::span<const Port> inputs);
  Port operator()(CellBuild& build, Port x) { return (*this)(build, std::span<const Port>(&x, 1)); }
  Port operator()(CellBuild& build, std::initializer_list<Port> inputs) {
    return (*this)(build, std::span<const Port>(inputs.begin(), inputs.size()));
  }

  const std::string& name() const { return name_; }
  /// The kind for rules of layers (layer_rule.h): "dense", "conv2d", "batch_norm", "loss", ...; "" for cells of the
  /// user.
  virtual std::string_view kind() const { return {}; }
  /// Cells directly within this one, in order of their making.
  std::span<Cell* const> cells() const { return cells_; }

 protected:
  virtual Port construct(CellBuild& build, std::span<const Port> inputs) = 0;
  /// A float32 variable of this cell, cast to what the cell computes in. Inside construct.
  Port parameter(CellBuild& build, std::string_view name, const Shape& shape, const Initializer& initializer,
                 bool trainable = true) const;
  /// Makes a cell that is no member a part of this one; it must live as long.
  void adopt(Cell& cell);
  /// Throws GraphError for another number of inputs.
  void expect_inputs(std::span<const Port> inputs, size_t count) const;

 private:
  std::string name_;
  std::optional<DType> compute_, output_;
  bool strict_ = false;
  Cell* parent_ = nullptr;  ///< as long as both live
  std::vector<Cell*> cells_;
};

/// Calls to_float by a rule, for the cells that compute in low precision under the rule, and for norms that it keeps in
/// float32 within such a network, whose output is cast. A rule that changes nothing (level O0) leaves the cells
/// unchanged.
void apply_rule(Cell& network, const LayerRule& rule);

// ---- Cells of the library. Defaults are MindSpore's. ----------------------------------------------------------------

/// x [batch, in] -> x weight^T + bias [batch, out]. Parameters "weight" [out, in], "bias" [out].
struct DenseOptions {
  bool has_bias = true;
  Initializer weight_init = Initializer::normal(0.01);
  Initializer bias_init = Initializer::zeros();
};
class Dense : public Cell {
 public:
  Dense(Cell& parent, std::string name, int64_t in_channels, int64_t out_channels, DenseOptions options = {});
  std::string_view kind() const override { return "dense"; }

 protected:
  Port construct(CellBuild& build, std::span<const Port> inputs) override;

 private:
  int64_t in_, out_;
  DenseOptions options_;
};

/// How images lie that enter and leave a cell (MIXED_PRECISION M01). The cell computes on [batch, h, w, c] always, and
/// transposes [batch, c, h, w] on entry ("nhwc") and its result on leaving ("nchw"): a Transpose moves elements and
/// rounds nothing. Parameters are the same for both.
enum class DataFormat : uint8_t {
  kNHWC,
  kNCHW,  ///< MindSpore's default
};

/// x [batch, in, h, w] -> [batch, out, h', w'], or as data_format says. Parameters "weight" [kernel, kernel, in, out],
/// "bias" [out].
struct Conv2dOptions {
  int64_t stride = 1;
  std::string pad_mode = "same";  ///< (same, valid)
  bool has_bias = false;
  Initializer weight_init = Initializer::normal(0.01);
  Initializer bias_init = Initializer::zeros();
  DataFormat data_format = DataFormat::kNCHW;
};
class Conv2d : public Cell {
 public:
  Conv2d(Cell& parent, std::string name, int64_t in_channels, int64_t out_channels, int64_t kernel_size,
         Conv2dOptions options = {});
  std::string_view kind() const override { return "conv2d"; }

 protected:
  Port construct(CellBuild& build, std::span<const Port> inputs) override;

 private:
  int64_t in_, out_, kernel_;
  Conv2dOptions options_;
};

/// x [batch, c, h, w], or as data_format says. Parameters "gamma" ones, "beta" zeros, "moving_mean" zeros,
/// "moving_variance" ones, which stay float32 beside an x of 16 bits, as the kernels want them. In training: the
/// batch's statistics, and average = momentum average + (1 - momentum) statistic, also where the step is skipped
/// afterwards.
class BatchNorm2d : public Cell {
 public:
  BatchNorm2d(Cell& parent, std::string name, int64_t num_features, double eps = 1e-5, double momentum = 0.9,
              DataFormat data_format = DataFormat::kNCHW);
  std::string_view kind() const override { return "batch_norm"; }

 protected:
  Port construct(CellBuild& build, std::span<const Port> inputs) override;

 private:
  int64_t features_;
  double eps_, momentum_;
  DataFormat format_;
};

class ReLU : public Cell {
 public:
  using Cell::Cell;
  std::string_view kind() const override { return "relu"; }

 protected:
  Port construct(CellBuild& build, std::span<const Port> inputs) override;
};

/// Windows of size x size, `stride` apart.
class MaxPool2d : public Cell {
 public:
  MaxPool2d(Cell& parent, std::string name, int64_t kernel_size = 1, int64_t stride = 1, std::string pad_mode = "valid",
            DataFormat data_format = DataFormat::kNCHW);
  std::string_view kind() const override { return "max_pool"; }

 protected:
  Port construct(CellBuild& build, std::span<const Port> inputs) override;

 private:
  int64_t size_, stride_;
  std::string pad_mode_;
  DataFormat format_;
};

/// [batch, ...] -> [batch, everything else], in the order in which the elements lie.
class Flatten : public Cell {
 public:
  using Cell::Cell;
  std::string_view kind() const override { return "flatten"; }

 protected:
  Port construct(CellBuild& build, std::span<const Port> inputs) override;
};

/// Cells one after another; it owns them. Their names are "0", "1", ...
class SequentialCell : public Cell {
 public:
  using Cell::Cell;
  /// Makes a cell C(*this, name, arguments...) at the end.
  template <class C, class... Arguments>
  C& append(Arguments&&... arguments) {
    auto cell = std::make_unique<C>(*this, std::to_string(owned_.size()), std::forward<Arguments>(arguments)...);
    C& made = *cell;
    owned_.push_back(std::move(cell));
    return made;
  }

 protected:
  Port construct(CellBuild& build, std::span<const Port> inputs) override;

 private:
  std::vector<std::unique_ptr<Cell>> owned_;
};

enum class Reduction : uint8_t { kNone, kMean, kSum };

/// (logits [batch, classes], labels) -> a loss per row, or their mean or sum. Labels: of the logits' dtype, [batch,
/// classes]; sparse: int32 [batch]. The signal back is softmax(logits) - labels, also where a row of labels is not a
/// distribution (row 4.4).
class SoftmaxCrossEntropyWithLogits : public Cell {
 public:
  explicit SoftmaxCrossEntropyWithLogits(bool sparse = false, Reduction reduction = Reduction::kNone)
      : sparse_(sparse), reduction_(reduction) {}
  std::string_view kind() const override { return "loss"; }

 protected:
  Port construct(CellBuild& build, std::span<const Port> inputs) override;

 private:
  bool sparse_;
  Reduction reduction_;
};

/// MIXED_PRECISION M10: (data, label) -> loss(backbone(data), label). cast_to_float32: output and floating labels are
/// cast to float32 before, as the levels of 16 bits do. Both cells must live as long as this one.
class WithLossCell : public Cell {
 public:
  WithLossCell(Cell& backbone, Cell& loss_fn, bool cast_to_float32 = false);

 protected:
  Port construct(CellBuild& build, std::span<const Port> inputs) override;

 private:
  Cell& backbone_;
  Cell& loss_fn_;
  bool cast_;
};

}  // namespace softamp::cells
