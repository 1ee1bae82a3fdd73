// Shape inference of the operations that move elements, for their rows in structure.cpp.
#pragma once

#include "softamp/graph/operation.h"

namespace softamp::graph_detail {

void infer_reshape(InferenceContext& c);
void infer_expand(InferenceContext& c);
void infer_squeeze(InferenceContext& c);
void infer_transpose(InferenceContext& c);
void infer_concat(InferenceContext& c);
void infer_pack(InferenceContext& c);
void infer_unpack(InferenceContext& c);
void infer_split(InferenceContext& c);
void infer_split_v(InferenceContext& c);
void infer_pad(InferenceContext& c);
void infer_slice(InferenceContext& c);
void infer_strided_slice(InferenceContext& c);
void infer_tile(InferenceContext& c);
void infer_gather(InferenceContext& c);
void infer_segment_sum(InferenceContext& c);
void infer_one_hot(InferenceContext& c);

}  // namespace softamp::graph_detail
