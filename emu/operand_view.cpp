#include "emu/operand_view.h"

#include <algorithm>
#include <cstring>

namespace softamp::emu {
namespace {

/// Writes `count` copies of the element at `from`.
void repeat(const char* from, size_t bytes, size_t count, char* to) {
  std::memcpy(to, from, bytes);
  for (size_t done = 1; done < count;) {
    const size_t more = std::min(done, count - done);
    std::memcpy(to + done * bytes, to, more * bytes);
    done += more;
  }
}

}  // namespace

OperandView::OperandView(const Shape& shape, const Shape& output, size_t bytes)
    : bytes_(bytes), elements_(static_cast<size_t>(shape.elements())) {
  size_t stride = 1;
  for (int axis = output.rank() - 1; axis >= 0; --axis) {
    const int own = axis - (output.rank() - shape.rank());
    const size_t extent = static_cast<size_t>(output[axis]);
    const size_t held = own < 0 ? 1 : static_cast<size_t>(shape[own]);
    if (extent == 1) continue;
    const Axis next{extent, held == 1 ? 0 : stride};
    stride *= held;
    // Neighbouring axes with one common stride are one axis.
    Axis* const inner = axes_.empty() ? nullptr : &axes_.back();
    if (inner && (next.stride == 0 ? inner->stride == 0 : next.stride == inner->extent * inner->stride))
      inner->extent *= next.extent;
    else
      axes_.push_back(next);
  }
  std::reverse(axes_.begin(), axes_.end());
  const bool all_there = axes_.empty() || (axes_.size() == 1 && axes_[0].stride == 1);
  const bool scalar = axes_.size() == 1 && axes_[0].stride == 0;
  const bool last_axes = axes_.size() == 2 && axes_[0].stride == 0 && axes_[1].stride == 1;
  kind_ = all_there ? Kind::kDirect : scalar || last_axes ? Kind::kRow : Kind::kGeneral;
}

size_t OperandView::place(size_t index) const {
  size_t place = 0;
  for (size_t a = axes_.size(); a-- > 0;) {
    place += index % axes_[a].extent * axes_[a].stride;
    index /= axes_[a].extent;
  }
  return place;
}

const void* OperandView::expanded(const char* data, size_t begin, size_t count, Buffer& buffer) const {
  return kind_ == Kind::kRow ? row(data, begin, count, buffer) : general(data, begin, count, buffer);
}

const void* OperandView::row(const char* data, size_t begin, size_t count, Buffer& buffer) const {
  const size_t start = begin % elements_;
  if (start + count <= elements_) return data + start * bytes_;
  if (elements_ > kElementBlock) {  // across the end of a long row
    const size_t first = elements_ - start;
    std::memcpy(buffer.data, data + start * bytes_, first * bytes_);
    std::memcpy(buffer.data + first * bytes_, data, (count - first) * bytes_);
    return buffer.data;
  }
  if (!buffer.filled) {
    // Enough rows for any block of this call, wherever it begins: the first block's `count` is the greatest.
    const size_t needed = elements_ + count;
    std::memcpy(buffer.data, data, elements_ * bytes_);
    for (size_t done = elements_; done < needed;) {
      const size_t more = std::min(done, needed - done);
      std::memcpy(buffer.data + done * bytes_, buffer.data, more * bytes_);
      done += more;
    }
    buffer.filled = true;
  }
  return buffer.data + start * bytes_;
}

const void* OperandView::general(const char* data, size_t begin, size_t count, Buffer& buffer) const {
  size_t at[Shape::kMaxRank] = {};
  size_t rest = begin, place = 0;
  const size_t rank = axes_.size();
  for (size_t a = rank; a-- > 0;) {
    at[a] = rest % axes_[a].extent;
    rest /= axes_[a].extent;
    place += at[a] * axes_[a].stride;
  }
  const Axis& inner = axes_[rank - 1];
  char* out = buffer.data;
  for (size_t left = count; left != 0;) {
    const size_t run = std::min(left, inner.extent - at[rank - 1]);
    if (inner.stride == 0)
      repeat(data + place * bytes_, bytes_, run, out);
    else
      std::memcpy(out, data + place * bytes_, run * bytes_);
    out += run * bytes_;
    left -= run;
    place += run * inner.stride;
    at[rank - 1] += run;
    for (size_t a = rank; a-- > 0 && at[a] == axes_[a].extent;) {
      place -= at[a] * axes_[a].stride;
      at[a] = 0;
      if (a == 0) break;
      ++at[a - 1];
      place += axes_[a - 1].stride;
    }
  }
  return buffer.data;
}

}  // namespace softamp::emu
