// The names in TensorFlow's lists, and the presets made of them.
//
// Source: auto_mixed_precision_lists.h of TensorFlow r2.3 with the operations that CUDA 9.1 and cuDNN 7.6.2 add; the
// list of 2019 differs in four names; bfloat16 on CPUs (MKL) as of 2.4. Only the names were taken.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "softamp/precision/op_lists.h"
#include "src/text/joined.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/text/word.h"

namespace softamp {
namespace {

// r2.3: always converted.
constexpr std::string_view kAllow =
    "BatchMatMul BatchMatMulV2 BlockLSTM BlockLSTMGrad BlockLSTMGradV2 BlockLSTMV2 Conv2D Conv2DBackpropFilter "
    "Conv2DBackpropInput Conv3D Conv3DBackpropFilter Conv3DBackpropFilterV2 Conv3DBackpropInput "
    "Conv3DBackpropInputV2 CudnnRNN CudnnRNNBackprop CudnnRNNBackpropV2 CudnnRNNBackpropV3 CudnnRNNV2 CudnnRNNV3 "
    "Einsum GRUBlockCell GRUBlockCellGrad LSTMBlockCell LSTMBlockCellGrad MatMul";

// r2.3: converted between allowed ones.
constexpr std::string_view kInfer =
    "Add AddN AddV2 AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad BiasAdd BiasAddGrad BiasAddV1 Elu EluGrad Erf "
    "Erfc FloorDiv FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3 Inv LeakyRelu "
    "LeakyReluGrad Log Log1p LogSoftmax Mul Prod RealDiv Reciprocal Selu SeluGrad Sigmoid SigmoidGrad Softmax "
    "Softplus SoftplusGrad Softsign SoftsignGrad Sqrt Sub Tanh TanhGrad _FusedBatchNormEx";

// r2.3: never converted.
constexpr std::string_view kDeny =
    "Exp Expm1 L2Loss Mean Pow SaveV2 SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits Sum";

// Denied in 2019, inferred in r2.3.
constexpr std::string_view kDenyOf2019 = "Log Log1p LogSoftmax Softmax";

// r2.3: without a numerical effect.
constexpr std::string_view kClear =
    "Abs ArgMax ArgMin BatchToSpace BatchToSpaceND BroadcastTo Ceil CheckNumerics ClipByValue Concat ConcatV2 "
    "DepthToSpace DynamicPartition DynamicStitch EnsureShape Enter Equal Exit ExpandDims Fill Floor Gather "
    "GatherNd GatherV2 Greater GreaterEqual Identity IdentityN IsFinite IsInf IsNan Less LessEqual Max MaxPool "
    "MaxPool3D MaxPool3DGrad MaxPool3DGradGrad MaxPoolGrad MaxPoolGradGrad MaxPoolGradGradV2 MaxPoolGradV2 "
    "MaxPoolV2 Maximum Merge Min Minimum MirrorPad MirrorPadGrad Neg NextIteration NotEqual OneHot OnesLike Pack "
    "Pad PadV2 PreventGradient Rank Relu Relu6 Relu6Grad ReluGrad Reshape ResizeNearestNeighbor "
    "ResizeNearestNeighborGrad Reverse ReverseSequence ReverseV2 Round Select SelectV2 Shape ShapeN Sign Size "
    "Slice Snapshot SpaceToBatch SpaceToBatchND SpaceToDepth Split SplitV Squeeze StopGradient StridedSlice "
    "StridedSliceGrad Switch Tile TopK TopKV2 Transpose Where ZerosLike";

// The same, of lists of tensors.
constexpr std::string_view kClearTensorLists =
    "TensorListConcat TensorListConcatLists TensorListConcatV2 TensorListFromTensor TensorListGather "
    "TensorListGetItem TensorListPopBack TensorListPushBack TensorListPushBackBatch TensorListScatter "
    "TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem TensorListSplit TensorListStack";

// MKL, 2.4.
constexpr std::string_view kMklAllow =
    "BatchMatMul BatchMatMulV2 Conv2D Conv2DBackpropFilter Conv2DBackpropInput Conv3D Conv3DBackpropFilterV2 "
    "Conv3DBackpropInputV2 DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter "
    "DepthwiseConv2dNativeBackpropInput MatMul";

// MKL, 2.4.
constexpr std::string_view kMklInfer =
    "Add AddN AddV2 AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad BiasAdd BiasAddGrad BiasAddV1 "
    "FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3 LeakyRelu LeakyReluGrad Mul Sub";

// MKL, 2.4, without those of lists of tensors.
constexpr std::string_view kMklClear =
    "Concat ConcatV2 EnsureShape Enter Equal Exit ExpandDims Identity MaxPool MaxPool3D MaxPool3DGrad MaxPoolGrad "
    "MaxPoolV2 Maximum Merge NextIteration PreventGradient Relu Relu6 Relu6Grad ReluGrad Reshape Select SelectV2 "
    "Shape ShapeN Slice Split SplitV Squeeze StopGradient Switch Transpose ZerosLike";

void add(OpLists::Names& names, std::string_view words) {
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    names.emplace(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

struct NamedLists {
  std::string_view name;
  OpLists (*lists)();
};
constexpr std::array kNamedLists = {NamedLists{"2.3", OpLists::tf_2_3}, NamedLists{"2019", OpLists::tf_2019},
                                    NamedLists{"mkl", OpLists::mkl}};

}  // namespace

OpLists OpLists::tf_2_3() {
  OpLists lists;
  lists.name = "2.3";
  add(lists.allow, kAllow);
  add(lists.infer, kInfer);
  add(lists.deny, kDeny);
  add(lists.clear, kClear);
  add(lists.clear, kClearTensorLists);
  return lists;
}

OpLists OpLists::tf_2019() {
  OpLists lists = tf_2_3();
  lists.name = "2019";
  add(lists.deny, kDenyOf2019);
  for (const std::string& op : lists.deny) lists.infer.erase(op);
  return lists;
}

OpLists OpLists::mkl() {
  OpLists lists;
  lists.name = "mkl";
  lists.low = DType::kBFloat16;
  add(lists.allow, kMklAllow);
  add(lists.infer, kMklInfer);
  add(lists.deny, kDeny);
  lists.deny.emplace("Softmax");
  add(lists.clear, kMklClear);
  add(lists.clear, kClearTensorLists);
  return lists;
}

std::vector<std::string> OpLists::preset_names() {
  std::vector<std::string> names;
  for (const NamedLists& preset : kNamedLists) names.emplace_back(preset.name);
  return names;
}

OpLists OpLists::preset(std::string_view name) {
  const std::string_view version = name.starts_with('r') || name.starts_with('R') ? name.substr(1) : name;
  if (const NamedLists* const preset = find_word(kNamedLists, version, &NamedLists::name)) return preset->lists();
  throw std::invalid_argument("op lists: there is no preset '" + files::excerpt(name) + "'" +
                              graph_detail::nearest_of(name, kNamedLists, &NamedLists::name) + "; expected one of " +
                              joined(kNamedLists, ", ", &NamedLists::name));
}

}  // namespace softamp
