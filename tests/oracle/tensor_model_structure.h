// Models of the operations that move elements: which element of the input stands where. Values keep their bits, so a
// model gives places (-1: none), not numbers.
#pragma once

#include "tests/oracle/tensor_model.h"

namespace oracle::model {

using Extents = std::vector<int64_t>;

/// For each element of an output its place in the input, or -1.
struct Places {
  Extents shape;
  std::vector<int64_t> from;
};

/// Output element `index` comes from input element source(index); an index outside of the input is -1.
template <class F>
Places places(const Extents& in, const Extents& out, const F& source) {
  const Array input(in), output(out);
  Places p{out, {}};
  for (int64_t i = 0; i < output.size(); ++i) {
    const Extents from = source(output.index(i));
    bool inside = true;
    for (size_t a = 0; a < in.size(); ++a) inside = inside && from[a] >= 0 && from[a] < in[a];
    p.from.push_back(inside ? input.place(from) : -1);
  }
  return p;
}

inline Places transpose(const Extents& in, const Extents& perm) {
  Extents out;
  for (const int64_t p : perm) out.push_back(in[static_cast<size_t>(p)]);
  return places(in, out, [&](const Extents& i) {
    Extents from(in.size());
    for (size_t a = 0; a < perm.size(); ++a) from[static_cast<size_t>(perm[a])] = i[a];
    return from;
  });
}

inline Places pad(const Extents& in, const Extents& paddings) {
  Extents out;
  for (size_t a = 0; a < in.size(); ++a) out.push_back(paddings[2 * a] + in[a] + paddings[2 * a + 1]);
  return places(in, out, [&](Extents i) {
    for (size_t a = 0; a < in.size(); ++a) i[a] -= paddings[2 * a];
    return i;
  });
}

inline Places slice(const Extents& in, const Extents& begin, const Extents& size) {
  Extents out;
  for (size_t a = 0; a < in.size(); ++a) out.push_back(size[a] == -1 ? in[a] - begin[a] : size[a]);
  return places(in, out, [&](Extents i) {
    for (size_t a = 0; a < in.size(); ++a) i[a] += begin[a];
    return i;
  });
}

inline Places tile(const Extents& in, const Extents& multiples) {
  Extents out;
  for (size_t a = 0; a < in.size(); ++a) out.push_back(in[a] * multiples[a]);
  return places(in, out, [&](Extents i) {
    for (size_t a = 0; a < in.size(); ++a) i[a] %= in[a];
    return i;
  });
}

/// Elements begin, begin + stride, ... before end, as Python counts: found by walking there, step by step.
inline Extents python_range(int64_t extent, int64_t begin, int64_t end, int64_t stride, bool no_begin, bool no_end) {
  if (begin < 0) begin += extent;
  if (end < 0) end += extent;
  if (no_begin) begin = stride > 0 ? 0 : extent - 1;
  if (no_end) end = stride > 0 ? extent : -1;
  // Clamped as slice.indices does.
  if (stride > 0) {
    begin = std::max<int64_t>(0, std::min(begin, extent));
    end = std::max<int64_t>(0, std::min(end, extent));
  } else {
    begin = std::max<int64_t>(-1, std::min(begin, extent - 1));
    end = std::max<int64_t>(-1, std::min(end, extent - 1));
  }
  Extents elements;
  for (int64_t i = begin; stride > 0 ? i < end : i > end; i += stride) elements.push_back(i);
  return elements;
}

inline Places strided_slice(const Extents& in, const Extents& begin, const Extents& end, const Extents& strides,
                            int64_t begin_mask, int64_t end_mask, int64_t shrink_mask) {
  std::vector<Extents> chosen(in.size());
  Extents out, kept;
  for (size_t a = 0; a < in.size(); ++a) {
    if (a >= begin.size()) {
      for (int64_t i = 0; i < in[a]; ++i) chosen[a].push_back(i);
    } else if (shrink_mask >> a & 1) {
      chosen[a].push_back(begin[a] < 0 ? begin[a] + in[a] : begin[a]);
      continue;
    } else {
      chosen[a] = python_range(in[a], begin[a], end[a], strides[a], begin_mask >> a & 1, end_mask >> a & 1);
    }
    out.push_back(static_cast<int64_t>(chosen[a].size()));
    kept.push_back(static_cast<int64_t>(a));
  }
  return places(in, out, [&](const Extents& i) {
    Extents from(in.size());
    for (size_t a = 0; a < in.size(); ++a) from[a] = chosen[a].empty() ? -1 : chosen[a][0];
    for (size_t k = 0; k < kept.size(); ++k) {
      const size_t a = static_cast<size_t>(kept[k]);
      from[a] = chosen[a][static_cast<size_t>(i[k])];
    }
    return from;
  });
}

/// params with axis replaced by the shape of indices.
inline Places gather(const Extents& in, const Extents& indices_shape, const std::vector<int64_t>& indices,
                     int64_t axis) {
  Extents out(in.begin(), in.begin() + axis);
  out.insert(out.end(), indices_shape.begin(), indices_shape.end());
  out.insert(out.end(), in.begin() + axis + 1, in.end());
  const Array index(indices_shape);
  return places(in, out, [&](const Extents& i) {
    const auto first = i.begin() + axis, last = first + static_cast<int64_t>(indices_shape.size());
    Extents from(i.begin(), first);
    from.push_back(indices[static_cast<size_t>(index.place(Extents(first, last)))]);
    from.insert(from.end(), last, i.end());
    return from;
  });
}

}  // namespace oracle::model
