// Operations whose names the library knows: its own, TensorFlow's as far as its table goes, those of built-in recipes.
#pragma once

#include <string>
#include <string_view>

namespace softamp::precision_detail {

/// The known operation that a name most likely means, or empty: the name is known, no other is near, the two differ in
/// digits alone (Conv3D is not Conv2D misspelt), or it is one of a maker's own (Habana..., Horovod..., Hpu...), of
/// which nobody has a whole list.
std::string meant_operation(std::string_view name);

}  // namespace softamp::precision_detail
