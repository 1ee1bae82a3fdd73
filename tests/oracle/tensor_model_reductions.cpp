#include "tests/oracle/tensor_model_reductions.h"

#include <algorithm>

namespace oracle::model {

Groups reduce_groups(const std::vector<int64_t>& shape, std::vector<int64_t> axes, bool keep_dims) {
  const size_t rank = shape.size();
  std::vector<bool> gone(rank, axes.empty());
  for (const int64_t a : axes) gone[static_cast<size_t>(a < 0 ? a + static_cast<int64_t>(rank) : a)] = true;
  std::vector<int64_t> kept;
  Groups groups;
  for (size_t a = 0; a < rank; ++a) {
    kept.push_back(gone[a] ? 1 : shape[a]);
    if (!gone[a] || keep_dims) groups.shape.push_back(kept.back());
  }
  const Array in(shape), out(kept);
  groups.places.resize(out.at.size());
  for (int64_t i = 0; i < in.size(); ++i) {
    std::vector<int64_t> index = in.index(i);
    for (size_t a = 0; a < rank; ++a)
      if (gone[a]) index[a] = 0;
    groups.places[static_cast<size_t>(out.place(index))].push_back(i);
  }
  return groups;
}

std::vector<Range> elements_of(const Array& x, const std::vector<int64_t>& places) {
  std::vector<Range> elements;
  for (const int64_t p : places) elements.push_back(x[p]);
  return elements;
}

Array reduce(const Array& x, const Groups& groups, const std::function<Range(const std::vector<Range>&)>& f) {
  Array out(groups.shape);
  for (int64_t i = 0; i < out.size(); ++i) out[i] = f(elements_of(x, groups.places[static_cast<size_t>(i)]));
  return out;
}

Range count_of(size_t n) { return f32(static_cast<Real>(n)); }

Range half_sum(const std::vector<Range>& terms, int64_t depth, const Mode& mode) {
  Range total = Real{0};
  Real magnitude = 0;
  for (const Range& x : terms) {
    total = total + x;
    magnitude += x.magnitude();
  }
  // Each element is part of at most `depth` sums, each within v = 2^-11 (stochastically 2^-10) of its exact value
  // relatively; sums of halves that are subnormal are exact. |error| <= ((1 + v)^depth - 1) sum |x|.
  const Real v = mode.stochastic ? 0x1p-10L : 0x1p-11L;
  return within(total, (std::pow(1 + v, static_cast<Real>(depth)) - 1) * magnitude);
}

int64_t place_of_extremum(const std::vector<Range>& x, bool least) {
  int64_t best = 0;
  const auto before = [&](Real a, Real b) {  // a is strictly more extreme than b; -0 is below +0
    if (a == 0 && b == 0) return least ? std::signbit(a) && !std::signbit(b) : !std::signbit(a) && std::signbit(b);
    return least ? a < b : a > b;
  };
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].nan) return static_cast<int64_t>(i);
    if (before(x[i].low, x[static_cast<size_t>(best)].low)) best = static_cast<int64_t>(i);
  }
  return best;
}

namespace {

/// Calls f(output place, input places of its window in row-major order).
void each_window(const Array& in, const std::vector<int64_t>& ksize, const Window& window,
                 const std::function<void(int64_t, const std::vector<int64_t>&)>& f) {
  const int64_t high = window.outputs(1, in.shape[1], ksize[1]), wide = window.outputs(2, in.shape[2], ksize[2]);
  const int64_t top = window.before(1, in.shape[1], ksize[1]), left = window.before(2, in.shape[2], ksize[2]);
  const Array out({in.shape[0], high, wide, in.shape[3]});
  for (int64_t o = 0; o < out.size(); ++o) {
    const std::vector<int64_t> at = out.index(o);
    std::vector<int64_t> places;
    for (int64_t kh = 0; kh < ksize[1]; ++kh)
      for (int64_t kw = 0; kw < ksize[2]; ++kw) {
        const int64_t y = at[1] * window.strides[1] + kh - top, x = at[2] * window.strides[2] + kw - left;
        if (y >= 0 && y < in.shape[1] && x >= 0 && x < in.shape[2]) places.push_back(in.place({at[0], y, x, at[3]}));
      }
    f(o, places);
  }
}

Array pooled(const Array& x, const std::vector<int64_t>& ksize, const Window& window) {
  return Array(
      {x.shape[0], window.outputs(1, x.shape[1], ksize[1]), window.outputs(2, x.shape[2], ksize[2]), x.shape[3]});
}

Array sums(const std::vector<int64_t>& shape, const std::vector<std::vector<Range>>& terms) {
  Array out(shape);  // from +0: an element in no window has no sum but this, and no sum is -0
  for (int64_t i = 0; i < out.size(); ++i) out[i] = Range(Real{0}) + sum_in_any_order(terms[static_cast<size_t>(i)]);
  return out;
}

}  // namespace

Array max_pool(const Array& x, const std::vector<int64_t>& ksize, const Window& window) {
  Array out = pooled(x, ksize, window);
  each_window(x, ksize, window, [&](int64_t o, const std::vector<int64_t>& places) {
    const std::vector<Range> all = elements_of(x, places);
    out[o] = all[static_cast<size_t>(place_of_extremum(all, false))];
  });
  return out;
}

Array max_pool_gradient(const Array& x, const Array& dy, const std::vector<int64_t>& ksize, const Window& window) {
  std::vector<std::vector<Range>> terms(x.at.size());
  each_window(x, ksize, window, [&](int64_t o, const std::vector<int64_t>& places) {
    const int64_t first = place_of_extremum(elements_of(x, places), false);
    terms[static_cast<size_t>(places[static_cast<size_t>(first)])].push_back(dy[o]);
  });
  return sums(x.shape, terms);
}

Array average_pool(const Array& x, const std::vector<int64_t>& ksize, const Window& window) {
  Array out = pooled(x, ksize, window);
  each_window(x, ksize, window, [&](int64_t o, const std::vector<int64_t>& places) {
    out[o] = f32(sum_in_any_order(elements_of(x, places)) / count_of(places.size()));
  });
  return out;
}

Array average_pool_gradient(const std::vector<int64_t>& input, const Array& dy, const std::vector<int64_t>& ksize,
                            const Window& window) {
  const Array in(input);
  std::vector<std::vector<Range>> terms(in.at.size());
  each_window(in, ksize, window, [&](int64_t o, const std::vector<int64_t>& places) {
    for (const int64_t p : places) terms[static_cast<size_t>(p)].push_back(f32(dy[o] / count_of(places.size())));
  });
  return sums(input, terms);
}

}  // namespace oracle::model
