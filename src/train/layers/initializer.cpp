#include "softamp/train/initializer.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "softamp/kernel/random.h"
#include "softamp/machine/float_environment.h"
#include "softamp/numbers/number_text.h"

namespace softamp {
namespace {

using Kind = Initializer::Kind;

/// FNV-1a of 64 bits (Fowler, Noll, Vo), folded to 24 bits: the operation in a path's random address.
// implements: N267
uint32_t operation_of(std::string_view path) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return static_cast<uint32_t>((hash ^ hash >> 24 ^ hash >> 48) & (RandomBits::kOperations - 1));
}

/// How the numbers of one variable are made from random words: fma(random, factor, addend) in fp32 (N200).
struct DrawRecipe {
  kernel::RandomKind kind;
  float factor, addend;
};

// implements: N268
DrawRecipe draw_recipe_of(const Initializer& initializer, const Shape& shape) {
  const auto f = [](double x) { return static_cast<float>(x); };
  switch (initializer.kind) {
    case Kind::kGlorotUniform: {
      const Fans fans = fans_of(shape);
      const double limit =
          std::sqrt(6 / std::max(2.0, fans.in + fans.out));  // at least 2: TensorFlow's rule for empty shapes
      return {kernel::RandomKind::kUniform, f(2 * limit), f(-limit)};
    }
    case Kind::kUniform: return {kernel::RandomKind::kUniform, f(initializer.b - initializer.a), f(initializer.a)};
    case Kind::kTruncatedNormal: return {kernel::RandomKind::kTruncatedNormal, f(initializer.b), f(initializer.a)};
    default: return {kernel::RandomKind::kNormal, f(initializer.b), f(initializer.a)};
  }
}

}  // namespace

std::string Initializer::text() const {
  const std::string both = "(" + shortest_decimal(a) + ", " + shortest_decimal(b) + ")";
  switch (kind) {
    case Kind::kZeros: return "zeros";
    case Kind::kOnes: return "ones";
    case Kind::kConstant: return "constant(" + shortest_decimal(a) + ")";
    case Kind::kGlorotUniform: return "glorot_uniform";
    case Kind::kNormal: return "normal" + both;
    case Kind::kTruncatedNormal: return "truncated_normal" + both;
    case Kind::kUniform: break;
  }
  return "uniform" + both;
}

// implements: N268
Fans fans_of(const Shape& shape) {
  const engine::DefaultEnvironment guard;
  const auto extent = [&](int axis) { return static_cast<double>(shape[axis]); };
  const int rank = shape.rank();
  if (rank == 0) return {1, 1};
  if (rank == 1) return {extent(0), extent(0)};
  double field = 1;
  for (int axis = 0; axis + 2 < rank; ++axis) field *= extent(axis);
  return {field * extent(rank - 2), field * extent(rank - 1)};
}

// implements: N267
Tensor initial_value(const Initializer& initializer, const TensorType& type, std::string_view path, uint64_t seed) {
  const engine::DefaultEnvironment guard;
  switch (initializer.kind) {
    case Kind::kZeros: return Tensor(type);
    case Kind::kOnes: return Tensor::full(type.dtype, type.shape, 1);
    case Kind::kConstant: return Tensor::full(type.dtype, type.shape, initializer.a);
    default: break;
  }
  if (!is_floating(type.dtype))
    throw std::invalid_argument("variable '" + std::string(path) + "' of " + name_of(type.dtype) + " cannot begin as " +
                                initializer.text() +
                                ": expected a floating dtype (zeros, ones and constants take any)");
  const DrawRecipe recipe = draw_recipe_of(initializer, type.shape);
  kernel::Environment environment;
  environment.semantics = Semantics::ieee();
  environment.random.seed = seed;
  environment.step = 0xFFFFFFFFu;
  environment.operation = operation_of(path);
  std::vector<double> values(static_cast<size_t>(type.shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    const Rounded x = kernel::random_value(recipe.kind, kFp32, recipe.factor, recipe.addend, environment, i);
    values[i] = fp::to_double(kFp32, x.code);
  }
  return Tensor::from_values(type.dtype, type.shape, values);
}

}  // namespace softamp
