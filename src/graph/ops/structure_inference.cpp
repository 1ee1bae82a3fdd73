// Shape inference of the operations that move elements.
#include <algorithm>

#include "softamp/kernel/structure.h"
#include "src/graph/axis.h"
#include "src/graph/ops/structure_inference.h"
#include "src/text/joined.h"

namespace softamp::graph_detail {
namespace {

std::vector<int64_t> extents_of(const Shape& shape) { return {shape.begin(), shape.end()}; }
void check_length(const InferenceContext& c, const char* name, const std::vector<int64_t>& numbers, size_t expected) {
  if (numbers.size() != expected)
    c.fail(std::string("attribute '") + name + "' is " + list_text(numbers) + ", of length " +
           std::to_string(numbers.size()) + "; expected " + std::to_string(expected) + " for an input of shape " +
           c.shape(0).text());
}

/// A list of outputs has at most this many: more is a mistake, and memory.
constexpr int64_t kMostOutputs = 1 << 16;

}  // namespace

void infer_reshape(InferenceContext& c) {
  std::vector<int64_t> wanted = c.get_ints("shape");
  const int64_t elements = c.shape(0).elements();
  const auto open = std::find(wanted.begin(), wanted.end(), -1);
  if (open != wanted.end()) {
    if (std::find(open + 1, wanted.end(), -1) != wanted.end())
      c.fail("attribute 'shape' is " + list_text(wanted) + "; expected at most one -1");
    const std::vector<int64_t> asked = wanted;
    *open = 1;
    const int64_t rest = shape_of(wanted).elements();
    if (rest == 0 || elements % rest != 0)
      c.fail("an input of shape " + c.shape(0).text() + " cannot be given the shape " + list_text(asked));
    *open = elements / rest;
  }
  const Shape out = shape_of(wanted);
  if (out.elements() != elements)
    c.fail("an input of shape " + c.shape(0).text() + " has " + std::to_string(elements) + " elements; shape " +
           out.text() + " has " + std::to_string(out.elements()));
  c.output(0, out);
}

void infer_expand(InferenceContext& c) {
  const int rank = c.shape(0).rank();
  std::vector<int64_t> extents = extents_of(c.shape(0));
  extents.insert(extents.begin() + normal_axis(c, c.get_int("axis"), rank + 1), 1);
  c.output(0, shape_of(extents));
}

void infer_squeeze(InferenceContext& c) {
  const Shape& in = c.shape(0);
  std::vector<bool> drop(static_cast<size_t>(in.rank()), false);
  for (const int64_t axis : c.get_ints("squeeze_dims")) {
    const int a = normal_axis(c, axis, in.rank(), "squeeze_dims:");
    if (in[a] != 1) c.fail("dimension " + std::to_string(axis) + " of " + in.text() + " is not 1");
    drop[static_cast<size_t>(a)] = true;
  }
  std::vector<int64_t> extents;
  for (int a = 0; a < in.rank(); ++a)
    if (c.get_ints("squeeze_dims").empty() ? in[a] != 1 : !drop[static_cast<size_t>(a)]) extents.push_back(in[a]);
  c.output(0, shape_of(extents));
}

void infer_transpose(InferenceContext& c) {
  const std::vector<int64_t>& perm = c.get_ints("perm");
  const Shape& in = c.shape(0);
  check_length(c, "perm", perm, static_cast<size_t>(in.rank()));
  std::vector<int64_t> extents;
  std::vector<bool> seen(perm.size(), false);
  for (const int64_t p : perm) {
    if (p < 0 || p >= in.rank() || seen[static_cast<size_t>(p)])
      c.fail("attribute 'perm' is " + list_text(perm) + "; expected a permutation of 0 to " +
             std::to_string(in.rank() - 1));
    seen[static_cast<size_t>(p)] = true;
    extents.push_back(in[static_cast<int>(p)]);
  }
  c.output(0, shape_of(extents));
}

void infer_concat(InferenceContext& c) {
  const Shape& first = c.shape(0);
  const int axis = normal_axis(c, c.get_int("axis"), first.rank());
  int64_t total = 0;
  for (size_t i = 0; i < c.inputs(); ++i) {
    const Shape& s = c.shape(i);
    if (s.rank() != first.rank() || with_extent(s, axis, 0) != with_extent(first, axis, 0))
      c.fail("input " + std::to_string(i) + " has shape " + s.text() + "; expected that of input 0, " + first.text() +
             ", but for axis " + std::to_string(axis));
    total += s[axis];
  }
  c.output(0, with_extent(first, axis, total));
}

void infer_pack(InferenceContext& c) {
  const Shape& first = c.shape(0);
  for (size_t i = 1; i < c.inputs(); ++i)
    if (c.shape(i) != first)
      c.fail("input " + std::to_string(i) + " has shape " + c.shape(i).text() + "; expected that of input 0, " +
             first.text());
  std::vector<int64_t> extents = extents_of(first);
  extents.insert(extents.begin() + normal_axis(c, c.get_int("axis"), first.rank() + 1),
                 static_cast<int64_t>(c.inputs()));
  c.output(0, shape_of(extents));
}

void infer_unpack(InferenceContext& c) {
  const int axis = normal_axis(c, c.get_int("axis"), c.shape(0).rank());
  const int64_t count = c.get_int("num");
  if (count != c.shape(0)[axis] || count < 1 || count > kMostOutputs)
    c.fail("attribute 'num' is " + std::to_string(count) + "; expected dimension " + std::to_string(axis) +
           " of shape " + c.shape(0).text() + ", from 1 to 65536");
  std::vector<int64_t> extents = extents_of(c.shape(0));
  extents.erase(extents.begin() + axis);
  for (int64_t i = 0; i < count; ++i) c.output(static_cast<size_t>(i), shape_of(extents));
}

void infer_split(InferenceContext& c) {
  const int axis = normal_axis(c, c.get_int("axis"), c.shape(0).rank());
  const int64_t count = c.get_int("num_split"), extent = c.shape(0)[axis];
  if (count < 1 || count > kMostOutputs || extent % count != 0)
    c.fail("attribute 'num_split' is " + std::to_string(count) +
           "; expected from 1 to 65536 and a divisor of dimension " + std::to_string(axis) + " of shape " +
           c.shape(0).text());
  for (int64_t i = 0; i < count; ++i) c.output(static_cast<size_t>(i), with_extent(c.shape(0), axis, extent / count));
}

void infer_split_v(InferenceContext& c) {
  const int axis = normal_axis(c, c.get_int("axis"), c.shape(0).rank());
  const std::vector<int64_t>& sizes = c.get_ints("size_splits");
  if (sizes.empty() || sizes.size() > static_cast<size_t>(kMostOutputs))
    c.fail("attribute 'size_splits' has " + std::to_string(sizes.size()) + " sizes; expected from 1 to 65536");
  int64_t left = c.shape(0)[axis];
  for (const int64_t size : sizes) {
    if (size < 0 || size > left)
      c.fail("attribute 'size_splits' is " + list_text(sizes) + "; expected sizes from 0 whose sum is dimension " +
             std::to_string(axis) + " of shape " + c.shape(0).text());
    left -= size;
  }
  if (left != 0)
    c.fail("attribute 'size_splits' is " + list_text(sizes) + ", which leaves " + std::to_string(left) +
           " of dimension " + std::to_string(axis) + " of shape " + c.shape(0).text());
  for (size_t i = 0; i < sizes.size(); ++i) c.output(i, with_extent(c.shape(0), axis, sizes[i]));
}

void infer_pad(InferenceContext& c) {
  const Shape& in = c.shape(0);
  const std::vector<int64_t>& p = c.get_ints("paddings");
  check_length(c, "paddings", p, 2 * static_cast<size_t>(in.rank()));
  std::vector<int64_t> extents;
  for (int a = 0; a < in.rank(); ++a) {
    const int64_t before = p[2 * static_cast<size_t>(a)], after = p[2 * static_cast<size_t>(a) + 1];
    if (before < 0 || after < 0 || before > Shape::kMaxElements || after > Shape::kMaxElements)
      c.fail("attribute 'paddings' is " + list_text(p) + "; expected numbers from 0 to 2^40");
    extents.push_back(before + in[a] + after);
  }
  c.output(0, shape_of(extents));
}

void infer_slice(InferenceContext& c) {
  const Shape& in = c.shape(0);
  const std::vector<int64_t>&begin = c.get_ints("begin"), &size = c.get_ints("size");
  check_length(c, "begin", begin, static_cast<size_t>(in.rank()));
  check_length(c, "size", size, static_cast<size_t>(in.rank()));
  std::vector<int64_t> extents;
  for (int a = 0; a < in.rank(); ++a) {
    const size_t i = static_cast<size_t>(a);
    if (begin[i] < 0 || begin[i] > in[a] || size[i] < -1 || size[i] > in[a] - begin[i])
      c.fail("begin " + list_text(begin) + ", size " + list_text(size) + " leaves an input of shape " + in.text());
    extents.push_back(size[i] == -1 ? in[a] - begin[i] : size[i]);
  }
  c.output(0, shape_of(extents));
}

void infer_strided_slice(InferenceContext& c) {
  const Shape& in = c.shape(0);
  const std::vector<int64_t>&begin = c.get_ints("begin"), &end = c.get_ints("end"), &strides = c.get_ints("strides");
  const size_t given = begin.size();
  if (given > static_cast<size_t>(in.rank()) || end.size() != given || strides.size() != given)
    c.fail("begin " + list_text(begin) + ", end " + list_text(end) + ", strides " + list_text(strides) +
           ": expected equal lengths, at most the rank of an input of shape " + in.text());
  std::vector<int64_t> extents;
  for (int a = 0; a < in.rank(); ++a) {
    const size_t i = static_cast<size_t>(a);
    if (i >= given) {
      extents.push_back(in[a]);
      continue;
    }
    if (strides[i] == 0) c.fail("strides " + list_text(strides) + ": expected none of 0");
    const bool shrink = c.get_int("shrink_axis_mask") >> a & 1;
    if (shrink) {
      const int64_t place = begin[i] < 0 ? begin[i] + in[a] : begin[i];
      if (place < 0 || place >= in[a])
        c.fail("begin " + std::to_string(begin[i]) + " of dimension " + std::to_string(a) +
               " leaves an input of shape " + in.text());
      continue;
    }
    extents.push_back(kernel::strided_range(in[a], begin[i], end[i], strides[i], c.get_int("begin_mask") >> a & 1,
                                            c.get_int("end_mask") >> a & 1)
                          .count);
  }
  c.output(0, shape_of(extents));
}

void infer_tile(InferenceContext& c) {
  const Shape& in = c.shape(0);
  const std::vector<int64_t>& multiples = c.get_ints("multiples");
  check_length(c, "multiples", multiples, static_cast<size_t>(in.rank()));
  std::vector<int64_t> extents;
  for (int a = 0; a < in.rank(); ++a) {
    const int64_t m = multiples[static_cast<size_t>(a)];
    if (m < 0 || m > Shape::kMaxElements / std::max<int64_t>(in[a], 1))
      c.fail("attribute 'multiples' is " + list_text(multiples) +
             "; expected numbers from 0 that keep the output below 2^40 elements");
    extents.push_back(in[a] * m);
  }
  c.output(0, shape_of(extents));
}

void infer_gather(InferenceContext& c) {
  const Shape &params = c.shape(0), &indices = c.shape(1);
  const int axis = normal_axis(c, c.get_int("axis"), params.rank());
  std::vector<int64_t> extents = extents_of(params);
  extents.erase(extents.begin() + axis);
  extents.insert(extents.begin() + axis, indices.begin(), indices.end());
  c.output(0, shape_of(extents));
}

void infer_segment_sum(InferenceContext& c) {
  const Shape &data = c.shape(0), &ids = c.shape(1);
  const int64_t segments = c.get_int("num_segments");
  if (segments < 0 || segments > int64_t{1} << 31)
    c.fail("attribute 'num_segments' is " + std::to_string(segments) + "; expected 0 to 2^31");
  bool prefix = ids.rank() <= data.rank();
  for (int a = 0; prefix && a < ids.rank(); ++a) prefix = ids[a] == data[a];
  if (!prefix)
    c.fail("segment_ids of shape " + ids.text() + "; expected the first dimensions of data, of shape " + data.text());
  std::vector<int64_t> extents{segments};
  extents.insert(extents.end(), data.begin() + ids.rank(), data.end());
  c.output(0, shape_of(extents));
}

void infer_one_hot(InferenceContext& c) {
  const int rank = c.shape(0).rank();
  const int64_t depth = c.get_int("depth");
  if (depth < 0) c.fail("attribute 'depth' is " + std::to_string(depth) + "; expected at least 0");
  std::vector<int64_t> extents = extents_of(c.shape(0));
  extents.insert(extents.begin() + normal_axis(c, c.get_int("axis"), rank + 1), depth);
  c.output(0, shape_of(extents));
}

}  // namespace softamp::graph_detail
