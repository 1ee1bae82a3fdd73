// The table of signatures: facts of TensorFlow's registry of operations and kernels (asked of release 2.13, whose
// signatures read the graphs of 2.3 as well), one operation to a line; op_signatures.h explains the form.
//
// h: a kernel in float16 is registered for GPUs, or for CPUs where GPUs have none at all. b: the operation's definition
// admits bfloat16; devices differ. U of the fused normalisations is only float32: statistics stay in it. @state:
// TensorFlow calls it stateful or it takes references, except operations that passes convert although TensorFlow calls
// them stateful, and those that only inspect: CudnnRNN*, CheckNumerics, CollectiveReduce*, _ScopedAllocator*,
// StatelessRandomGetAlg, VariableShape.
#include "src/precision/tensorflow/op_signatures.h"

namespace softamp::op_signature_detail {

std::string_view table() {
  return R"(
Abs T:hb | T | T
AccumulateNV2 T:hb | N*T | T
Acos T:hb | T | T
Acosh T:hb | T | T
Add T:hb | T T | T
AddN T:hb | N*T | T
AddV2 T:hb | T T | T
All Tidx=int32 | bool Tidx | bool
Any Tidx=int32 | bool Tidx | bool
ApplyAdagrad @state T:hb | &T &T T T | &T
ApplyAdam @state T:hb | &T &T &T 7*T | &T
ApplyGradientDescent @state T:hb | &T T T | &T
ApplyMomentum @state T:hb | &T &T T T T | &T
ApplyRMSProp @state T:hb | &T &T &T 5*T | &T
ArgMax T:hb Tidx=int32 output_type=int64 | T Tidx | output_type
ArgMin T:hb Tidx=int32 output_type=int64 | T Tidx | output_type
Asin T:hb | T | T
Asinh T:hb | T | T
Assert @state T[]:hb | bool T[] |
Assign @state T:hb | &T T | &T
AssignAdd @state T:hb | &T T | &T
AssignAddVariableOp @state dtype:hb | resource dtype |
AssignSub @state T:hb | &T T | &T
AssignSubVariableOp @state dtype:hb | resource dtype |
AssignVariableOp @state dtype:hb | resource dtype |
Atan T:hb | T | T
Atanh T:hb | T | T
AvgPool T:hb | T | T
AvgPool3D T:hb | T | T
AvgPool3DGrad T:hb | int32 T | T
AvgPoolGrad T:hb | int32 T | T
BatchMatMul T:hb | T T | T
BatchMatMulV2 T:hb | T T | T
BatchMatMulV3 Ta:hb Tb:hb Tout:hb | Ta Tb | Tout
BatchToSpace T:hb Tidx=int32 | T Tidx | T
BatchToSpaceND T:hb Tblock_shape=int32 Tcrops=int32 | T Tblock_shape Tcrops | T
BiasAdd T:hb | T T | T
BiasAddGrad T:hb | T | T
BiasAddV1 T:hb | T T | T
Bincount T | int32 int32 T | T
Bitcast T:hb type:hb | T | type
BlockLSTM T:h | int64 8*T | 7*T
BlockLSTMGrad T:h | int64 17*T | 8*T
BlockLSTMGradV2 T:h | int64 17*T | 8*T
BlockLSTMV2 T:h | int64 8*T | 7*T
BroadcastArgs T=int32 | T T | T
BroadcastGradientArgs T=int32 | T T | T T
BroadcastTo T:hb Tidx=int32 | T Tidx | T
CTCLoss T=float32 | T int64 int32 int32 | T T
Case @state Tin[] Tout[] | int32 Tin[] | Tout[]
Cast SrcT:hb DstT:hb | SrcT | DstT
Ceil T:hb | T | T
CheckNumerics T:hb | T | T
Cholesky T | T | T
ClipByValue T:hb | T T T | T
CollectiveReduceV2 T:hb Nordering_token#0 | T int32 int32 int32 Nordering_token*resource | T
CollectiveReduceV3 T:hb | T resource int32 | T
Concat T:hb | int32 N*T | T
ConcatV2 T:hb Tidx=int32 | N*T Tidx | T
Conj T=complex64 | T | T
ConjugateTranspose T:hb Tperm=int32 | T Tperm | T
Const dtype:hb | | dtype
ControlTrigger | |
Conv2D T:hb | T T | T
Conv2DBackpropFilter T:hb | T int32 T | T
Conv2DBackpropInput T:hb | int32 T T | T
Conv3D T:hb | T T | T
Conv3DBackpropFilter T:h | T T T | T
Conv3DBackpropFilterV2 T:hb | T int32 T | T
Conv3DBackpropInput T:h | T T T | T
Conv3DBackpropInputV2 T:hb Tshape=int32 | Tshape T T | T
Cos T:hb | T | T
Cosh T:hb | T | T
CudnnRNN T:hb | 4*T | 4*T
CudnnRNNBackprop T:hb | 11*T | 4*T
CudnnRNNBackpropV2 T:hb | 11*T int8 | 4*T
CudnnRNNBackpropV3 T:hb | 4*T int32 7*T int8 | 4*T
CudnnRNNV2 T:hb | 4*T | 4*T int8
CudnnRNNV3 T:hb | 4*T int32 | 4*T int8
Cumprod T:hb Tidx=int32 | T Tidx | T
Cumsum T:hb Tidx=int32 | T Tidx | T
DataFormatDimMap T=int32 | T | T
DataFormatVecPermute T=int32 | T | T
DecodeRaw out_type:hb | string | out_type
DepthToSpace T:hb | T | T
DepthwiseConv2dNative T:hb | T T | T
DepthwiseConv2dNativeBackpropFilter T:hb | T int32 T | T
DepthwiseConv2dNativeBackpropInput T:hb | int32 T T | T
Dequantize T dtype:b=float32 | T float32 float32 | dtype
DestroyResourceOp @state | resource |
Diag T:hb | T | T
DiagPart T:hb | T | T
Digamma T:hb | T | T
Dilation2D T:hb | T T | T
Div T:hb | T T | T
DivNoNan T:hb | T T | T
DynamicPartition T:hb | T int32 | num_partitions*T
DynamicStitch T:hb | N*int32 N*T | T
Einsum T:hb | N*T | T
Elu T:hb | T | T
EluGrad T:hb | T T | T
EmptyTensorList element_dtype:hb shape_type | shape_type int32 | variant
EnsureShape T:hb | T | T
Enter T:hb | T | T
Equal T:hb | T T | bool
Erf T:hb | T | T
Erfc T:hb | T | T
Erfinv T:b | T | T
EuclideanNorm T:hb Tidx=int32 | T Tidx | T
Exit T:hb | T | T
Exp T:hb | T | T
ExpandDims T:hb Tdim=int32 | T Tdim | T
Expm1 T:hb | T | T
ExtractImagePatches T:hb | T | T
FakeQuantWithMinMaxVars | float32 float32 float32 | float32
Fill T:hb index_type=int32 | index_type T | T
Floor T:hb | T | T
FloorDiv T:hb | T T | T
FloorMod T:hb | T T | T
FusedBatchNorm T | 5*T | 5*T
FusedBatchNormGrad T | 5*T | 5*T
FusedBatchNormGradV2 T:hb U | T T float32 U U | T 4*U
FusedBatchNormGradV3 T:hb U | T T float32 U U U | T 4*U
FusedBatchNormV2 T:hb U | T 4*U | T 4*U
FusedBatchNormV3 T:hb U | T 4*U | T 5*U
GRUBlockCell T | 6*T | 4*T
GRUBlockCellGrad T | 10*T | 4*T
Gather Tparams:hb Tindices | Tparams Tindices | Tparams
GatherNd Tparams:hb Tindices | Tparams Tindices | Tparams
GatherV2 Tparams:hb Tindices Taxis | Tparams Tindices Taxis | Tparams
Greater T:hb | T T | bool
GreaterEqual T:hb | T T | bool
HistogramSummary T:hb=float32 | string T | string
Identity T:hb | T | T
IdentityN T[]:hb | T[] | T[]
If @state Tcond Tin[] Tout[] | Tcond Tin[] | Tout[]
ImageProjectiveTransformV2 dtype:h | dtype float32 int32 | dtype
InTopK T=int32 | float32 T | bool
InTopKV2 T=int32 | float32 T T | bool
Inv T:hb | T | T
InvGrad T:hb | T T | T
InvertPermutation T=int32 | T | T
IsFinite T:hb | T | bool
IsInf T:hb | T | bool
IsNan T:hb | T | bool
IsVariableInitialized @state dtype:hb | &dtype | bool
IteratorGetNext @state output_types[]:hb | resource | output_types[]
L2Loss T:hb | T | T
LRN T:b=float32 | T | T
LRNGrad T:b=float32 | T T T | T
LSTMBlockCell T:h | 8*T | 7*T
LSTMBlockCellGrad T:h | 16*T | 5*T
LeakyRelu T:hb=float32 | T | T
LeakyReluGrad T:hb=float32 | T T | T
Less T:hb | T T | bool
LessEqual T:hb | T T | bool
Lgamma T:hb | T | T
LinSpace T:b Tidx=int32 | T T Tidx | T
ListDiff T:hb out_idx=int32 | T T | T out_idx
Log T:hb | T | T
Log1p T:hb | T | T
LogSoftmax T:hb | T | T
LogicalAnd | bool bool | bool
LogicalNot | bool | bool
LogicalOr | bool bool | bool
LoopCond | bool | bool
MatMul T:hb | T T | T
MatrixBandPart T:hb Tindex=int64 | T Tindex Tindex | T
MatrixDeterminant T | T | T
MatrixDiag T:hb | T | T
MatrixDiagPart T:hb | T | T
MatrixInverse T | T | T
MatrixSetDiag T:hb | T T | T
MatrixSolve T | T T | T
MatrixTriangularSolve T:b | T T | T
Max T:hb Tidx=int32 | T Tidx | T
MaxPool T:hb=float32 | T | T
MaxPool3D T:hb | T | T
MaxPool3DGrad T:hb=float32 TInput:hb=float32 | TInput TInput T | T
MaxPool3DGradGrad T:hb | T T T | T
MaxPoolGrad T:hb=float32 | T T T | T
MaxPoolGradGrad T:hb | T T T | T
MaxPoolGradGradV2 T:hb | T T T int32 int32 | T
MaxPoolGradV2 T:hb=float32 | T T T int32 int32 | T
MaxPoolGradWithArgmax Targmax T:hb | T T Targmax | T
MaxPoolV2 T:hb=float32 | T int32 int32 | T
MaxPoolWithArgmax Targmax=int64 T:hb | T | T Targmax
Maximum T:hb | T T | T
Mean T:hb Tidx=int32 | T Tidx | T
Merge T:hb | N*T | T int32
MergeSummary | N*string | string
MergeV2Checkpoints @state | string string |
Min T:hb Tidx=int32 | T Tidx | T
Minimum T:hb | T T | T
MirrorPad T:hb Tpaddings=int32 | T Tpaddings | T
MirrorPadGrad T:hb Tpaddings=int32 | T Tpaddings | T
Mod T:b | T T | T
Mul T:hb | T T | T
Multinomial @state @random T:hb output_dtype=int64 | T int32 | output_dtype
Ndtri T:b | T | T
Neg T:hb | T | T
NextAfter T=float32 | T T | T
NextIteration T:hb | T | T
NoOp | |
NonMaxSuppression | float32 float32 int32 | int32
NonMaxSuppressionV3 T=float32 T_threshold:h=float32 | T T int32 T_threshold T_threshold | int32
NotEqual T:hb | T T | bool
OneHot T:hb TI=int64 | TI int32 T T | T
OnesLike T:hb | T | T
OptionalFromValue Toutput_types[]:hb | Toutput_types[] | variant
OptionalGetValue output_types[]:hb | variant | output_types[]
OptionalHasValue | variant | bool
OptionalNone | | variant
Pack T:hb | N*T | T
Pad T:hb Tpaddings=int32 | T Tpaddings | T
PadV2 T:hb Tpaddings=int32 | T Tpaddings T | T
ParallelConcat T:hb | N*T | T
PartitionedCall Tin[] Tout[] | Tin[] | Tout[]
Placeholder @kept dtype:hb | | dtype
PlaceholderV2 @kept dtype:hb | | dtype
PlaceholderWithDefault @kept dtype:hb | dtype | dtype
Pow T:hb | T T | T
PreventGradient T:hb | T | T
Print @state T:hb U[]:hb | T U[] | T
PrintV2 @state | string |
Prod T:hb Tidx=int32 | T Tidx | T
Qr T:h | T | T T
QuantizeV2 T | float32 float32 float32 | T float32 float32
RandomShuffle @state @random T:hb | T | T
RandomStandardNormal @state @random dtype:hb T | T | dtype
RandomUniform @state @random dtype:hb T | T | dtype
RandomUniformInt @state @random Tout T | T Tout Tout | Tout
Range Tidx:b=int32 | Tidx Tidx Tidx | Tidx
Rank T:hb | T | int32
ReadFile | string | string
ReadVariableOp @state dtype:hb | resource | dtype
RealDiv T:hb | T T | T
Reciprocal T:hb | T | T
ReciprocalGrad T:hb | T T | T
RefEnter @state T:hb | &T | &T
RefExit @state T:hb | &T | &T
RefIdentity @state T:hb | &T | &T
RefMerge @state T:hb | &N*T | &T int32
RefNextIteration @state T:hb | &T | &T
RefSwitch @state T:hb | &T bool | &T &T
Relu T:hb | T | T
Relu6 T:hb | T | T
Relu6Grad T:hb | T T | T
ReluGrad T:hb | T T | T
Reshape T:hb Tshape=int32 | T Tshape | T
ResizeBilinear T:hb | T int32 | float32
ResizeBilinearGrad T:hb | float32 T | T
ResizeNearestNeighbor T:hb | T int32 | T
ResizeNearestNeighborGrad T:hb | T int32 | T
ResourceApplyAdagrad @state T:hb | resource resource T T |
ResourceApplyAdagradV2 @state T:hb | resource resource T T T |
ResourceApplyAdam @state T:hb | resource resource resource 7*T |
ResourceApplyFtrl @state T:hb | resource resource resource 5*T |
ResourceApplyGradientDescent @state T:hb | resource T T |
ResourceApplyKerasMomentum @state T:hb | resource resource T T T |
ResourceApplyMomentum @state T:hb | resource resource T T T |
ResourceApplyRMSProp @state T:hb | resource resource resource 5*T |
ResourceGather @state dtype:hb Tindices | resource Tindices | dtype
ResourceGatherNd @state dtype:hb Tindices | resource Tindices | dtype
ResourceScatterAdd @state dtype:hb Tindices | resource Tindices dtype |
ResourceScatterUpdate @state dtype:hb Tindices | resource Tindices dtype |
Restore @state dt:hb | string string | dt
RestoreV2 @state dtypes[]:hb | string string string | dtypes[]
Reverse T:hb | T bool | T
ReverseSequence T:hb Tlen=int64 | T Tlen | T
ReverseV2 Tidx=int32 T:hb | T Tidx | T
Rint T:hb | T | T
Roll T:hb Tshift Taxis | T Tshift Taxis | T
Round T:hb | T | T
Rsqrt T:hb | T | T
RsqrtGrad T:hb | T T | T
Save @state T[]:hb | string string T[] |
SaveV2 @state dtypes[]:hb | string string string dtypes[] |
ScalarSummary T:hb | string T | string
ScatterNd T:hb Tindices | Tindices T Tindices | T
SegmentSum T:hb Tindices | T Tindices | T
Select T:hb | bool T T | T
SelectV2 T:hb | bool T T | T
Selu T:hb | T | T
SeluGrad T:hb | T T | T
Shape T:hb out_type=int32 | T | out_type
ShapeN T:hb out_type=int32 | N*T | N*out_type
ShardedFilename | string int32 int32 | string
Sigmoid T:hb | T | T
SigmoidGrad T:hb | T T | T
Sign T:hb | T | T
Sin T:hb | T | T
Sinh T:hb | T | T
Size T:hb out_type=int32 | T | out_type
Slice T:hb Index | T Index Index | T
Snapshot T:hb | T | T
Softmax T:hb | T | T
SoftmaxCrossEntropyWithLogits T:hb | T T | T T
Softplus T:hb | T | T
SoftplusGrad T:hb | T T | T
Softsign T:hb | T | T
SoftsignGrad T:hb | T T | T
SpaceToBatch T:hb Tpaddings=int32 | T Tpaddings | T
SpaceToBatchND T:hb Tblock_shape=int32 Tpaddings=int32 | T Tblock_shape Tpaddings | T
SpaceToDepth T:hb | T | T
SparseMatMul Ta:b=float32 Tb:b=float32 | Ta Tb | float32
SparseSegmentSumWithNumSegments T:hb Tidx=int32 Tnumsegments=int32 Tsegmentids=int32 | T Tidx Tsegmentids Tnumsegments | T
SparseSoftmaxCrossEntropyWithLogits T:hb Tlabels=int64 | T Tlabels | T T
Split T:hb | int32 T | num_split*T
SplitV T:hb Tlen=int64 | T Tlen int32 | num_split*T
Sqrt T:hb | T | T
SqrtGrad T:hb | T T | T
Square T:hb | T | T
SquaredDifference T:hb | T T | T
Squeeze T:hb | T | T
StackPopV2 @state elem_type:hb | resource | elem_type
StackPushV2 @state T:hb | resource T | T
StackV2 @state elem_type:hb | int32 | resource
StatefulPartitionedCall @state Tin[] Tout[] | Tin[] | Tout[]
StatelessCase Tin[] Tout[] | int32 Tin[] | Tout[]
StatelessIf Tcond Tin[] Tout[] | Tcond Tin[] | Tout[]
StatelessRandomGetAlg | | int32
StatelessRandomGetKeyCounter Tseed=int64 | Tseed | uint64 uint64
StatelessRandomNormal dtype:hb=float32 T=int32 Tseed=int64 | T Tseed | dtype
StatelessRandomNormalV2 dtype:hb=float32 Tshape=int32 | Tshape uint64 uint64 int32 | dtype
StatelessRandomUniform dtype:hb=float32 T=int32 Tseed=int64 | T Tseed | dtype
StatelessRandomUniformIntV2 dtype Tshape=int32 | Tshape uint64 uint64 int32 dtype dtype | dtype
StatelessRandomUniformV2 dtype:hb=float32 Tshape=int32 | Tshape uint64 uint64 int32 | dtype
StatelessTruncatedNormal dtype:hb=float32 T=int32 Tseed=int64 | T Tseed | dtype
StatelessTruncatedNormalV2 dtype:hb=float32 Tshape=int32 | Tshape uint64 uint64 int32 | dtype
StatelessWhile T[] | T[] | T[]
StopGradient T:hb | T | T
StridedSlice T:hb Index | T Index Index Index | T
StridedSliceGrad T:hb Index | 4*Index T | T
StringJoin | N*string | string
Sub T:hb | T T | T
Sum T:hb Tidx=int32 | T Tidx | T
Svd T | T | T T T
Switch T:hb | T bool | T T
SymbolicGradient Tin[] Tout[] | Tin[] | Tout[]
Tan T:hb | T | T
Tanh T:hb | T | T
TanhGrad T:hb | T T | T
TensorListConcat element_dtype:hb | variant | element_dtype int64
TensorListConcatLists element_dtype:hb | variant variant | variant
TensorListConcatV2 element_dtype:hb shape_type | variant shape_type int64 | element_dtype int64
TensorListElementShape shape_type | variant | shape_type
TensorListFromTensor element_dtype:hb shape_type | element_dtype shape_type | variant
TensorListGather element_dtype:hb | variant int32 int32 | element_dtype
TensorListGetItem element_dtype:hb | variant int32 int32 | element_dtype
TensorListLength | variant | int32
TensorListPopBack element_dtype:hb | variant int32 | variant element_dtype
TensorListPushBack element_dtype:hb | variant element_dtype | variant
TensorListPushBackBatch element_dtype:hb | variant element_dtype | variant
TensorListReserve element_dtype:hb shape_type | shape_type int32 | variant
TensorListResize | variant int32 | variant
TensorListScatter element_dtype:hb shape_type | element_dtype int32 shape_type | variant
TensorListScatterIntoExistingList element_dtype:hb | variant element_dtype int32 | variant
TensorListScatterV2 element_dtype:hb shape_type | element_dtype int32 shape_type int32 | variant
TensorListSetItem element_dtype:hb | variant int32 element_dtype | variant
TensorListSplit element_dtype:hb shape_type | element_dtype shape_type int64 | variant
TensorListStack element_dtype:hb | variant int32 | element_dtype
TensorScatterAdd T:b Tindices | T Tindices T | T
TensorScatterSub T:b Tindices | T Tindices T | T
TensorScatterUpdate T:b Tindices | T Tindices T | T
Tile T:hb Tmultiples=int32 | T Tmultiples | T
TopK T:hb | T | T int32
TopKV2 T:hb Tk=int32 index_type=int32 | T Tk | T index_type
Transpose T:hb Tperm=int32 | T Tperm | T
TruncatedNormal @state @random dtype:hb T | T | dtype
Unique T:hb out_idx=int32 | T | T out_idx
UniqueV2 T:hb Taxis=int64 out_idx=int32 | T Taxis | T out_idx
Unpack T:hb | T | num*T
UnsortedSegmentSum T:hb Tindices Tnumsegments=int32 | T Tindices Tnumsegments | T
VarHandleOp @state dtype:hb | | resource
VarIsInitializedOp @state | resource | bool
Variable @state dtype:hb | | &dtype
VariableShape out_type=int32 | resource | out_type
VariableV2 @state dtype:hb | | &dtype
Where T:b=bool | T | int64
While @state T[] | T[] | T[]
Xdivy T:hb | T T | T
Xlogy T:hb | T T | T
ZerosLike T:hb | T | T
_Arg @kept @state T:hb | | T
_FusedBatchNormEx T:hb U num_side_inputs#0 | T 4*U num_side_inputs*T | T 5*U
_Retval @kept @state T:hb | T |
_ScopedAllocator T:hb | | T
_ScopedAllocatorConcat T:hb | T N*T | T
_ScopedAllocatorSplit T:hb | T N*T | N*T
_SwitchN T:hb | T int32 | num_outs*T
)";
}

}  // namespace softamp::op_signature_detail
