// The recipes that come with the pass: operation types of Gaudi's full and basic recipes, release 1.3.0, as the files
// of HabanaAI/Model-References list them, in their order.
#include <sstream>

#include "softamp/precision/recipe.h"

namespace softamp {
namespace {

RecipeException keep_fp32() { return {".*" + std::string(kKeepFp32Scope) + ".*", ""}; }
RecipeException force_bf16() { return {".*" + std::string(kForceBf16Scope) + ".*", ""}; }

std::vector<std::string> words(const char* text) {
  std::istringstream in(text);
  std::vector<std::string> list;
  for (std::string word; in >> word;) list.push_back(word);
  return list;
}

}  // namespace

Recipe Recipe::full() {
  Recipe r;
  r.name = "full";
  r.allow = words(
      "_ScopedAllocatorSplit _ScopedAllocatorConcat _ScopedAllocator BatchMatMul BatchMatMulV2 BiasAdd Conv2D "
      "Conv2DBackpropFilter Conv2DBackpropInput Cumprod Cumsum DepthwiseConv2dNative "
      "DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput EuclideanNorm Exp FloorDiv "
      "FusedBatchNormV2 FusedBatchNormV3 FusedBatchNormGradV2 FusedBatchNormGradV3 GatherNd GatherV2 Greater "
      "GreaterEqual HabanaConv2DWithPadding HabanaConv2DWithPaddingBackpropFilter "
      "HabanaConv2DWithPaddingBackpropInput HabanaDropout HabanaDropoutGrad HabanaDropoutStateful "
      "HabanaFusedBatchNormV3 HabanaGelu HabanaGeluGrad HabanaInstanceNorm HabanaInstanceNormGrad "
      "HabanaLayerNorm HabanaLayerNormGrad HabanaMaxPool HabanaMaxPoolGrad HabanaSoftmaxGrad "
      "HabanaLogSoftmaxGrad L2Loss Less LessEqual Log Log1p LogSoftmax MatMul MaxPool MaxPoolV2 MaxPoolGrad "
      "MaxPoolGradV2 Mul PyramidRoiAlign PyramidRoiAlignGradImages Reciprocal Relu Relu6 ReluGrad Relu6Grad "
      "Round Rsqrt RsqrtGrad Sigmoid SigmoidGrad Softmax SoftmaxCrossEntropyWithLogits "
      "SparseSoftmaxCrossEntropyWithLogits Square SquaredDifference Sqrt Tanh TanhGrad TensorScatterUpdate");
  r.conditional = words(
      "Abs ArgMax ArgMin CollectiveReduceV2 CollectiveReduceV3 DynamicStitch Equal ExpandDims Fill "
      "HabanaClampFwd HabanaClampBwd HabanaMaxGrad HabanaMinGrad HabanaSparseSegmentSum "
      "HabanaRandomUniformWithMaxval HabanaRandomUniformWithScale HabanaSize HorovodAllgather HorovodAllreduce "
      "HorovodBroadcast HpuCollectiveBcastRecv HpuCollectiveBcastRecvV2 HpuCollectiveBcastSend "
      "HpuCollectiveBcastSendV2 HpuCollectiveGather HpuCollectiveGatherV2 HpuCollectiveReduce Identity "
      "IdentityN IsFinite MatrixBandPart Maximum Minimum Neg NotEqual Pack Pad PadV2 RandomStandardNormal "
      "RandomUniform Rank RealDiv Reshape ResizeNearestNeighbor ResizeNearestNeighborGrad Select SelectV2 "
      "Shape ShapeN Sign Size Slice SparseSegmentSumWithNumSegments SplitV Split Snapshot Squeeze StridedSlice "
      "StridedSliceGrad Tile Transpose Unpack ZerosLike");
  r.strict = words("Add AddN AddV2 BiasAddGrad Sub");
  r.non_convertible = {keep_fp32()};
  r.convertible = {force_bf16()};
  return r;
}

Recipe Recipe::basic() {
  Recipe r;
  r.name = "basic";
  r.allow = words(
      "BatchMatMul BatchMatMulV2 Conv2D Conv2DBackpropFilter Conv2DBackpropInput HabanaConv2DWithPadding "
      "HabanaConv2DWithPaddingBackpropFilter HabanaConv2DWithPaddingBackpropInput MatMul");
  r.conditional = words("HabanaClampFwd HabanaClampBwd ResizeNearestNeighbor ResizeNearestNeighborGrad");
  r.non_convertible = {keep_fp32()};
  r.convertible = {force_bf16()};
  return r;
}

}  // namespace softamp
