// libFuzzer target: any bytes given to the reader of recipes are refused with std::invalid_argument, or give a recipe
// that reads back equal after it is written, and that colours a small graph without fault.
#include <stdexcept>
#include <string>

#include "softamp/precision/recipe.h"
#include "tests/fuzz/require.h"

using namespace softamp;

namespace {

/// Placeholder, variable, MatMul, AddV2, Relu, Mean; names that patterns of recipes speak of.
const OpGraph& small_graph() {
  static const OpGraph kGraph = [] {
    GraphBuilder b;
    const Port x = b.placeholder("x", DType::kFloat32, {2, 2});
    const Port w = b.add("VariableV2", {}, {{"dtype", DType::kFloat32}, {"shape", Shape{2, 2}}}, "bert/layer_0/w");
    const Port m = b.add("MatMul", {x, w}, {}, "bert/layer_0/MatMul");
    const Port a = b.add("AddV2", {m, x}, {}, "net/KEEP_FP32_PRECISION/add");
    b.add("Relu", {a}, {}, "net/FORCE_BF16_PRECISION/Relu");
    return op_graph(b.build());
  }();
  return kGraph;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Recipe recipe;
  try {
    recipe = Recipe::parse({reinterpret_cast<const char*>(data), size}, "input");
  } catch (const std::invalid_argument& e) {
    require(std::string(e.what()).rfind("input", 0) == 0, "an error names the source");
    return 0;
  }
  const std::string written = recipe.to_json();
  const Recipe back = Recipe::parse(written, "input");
  require(back == recipe, "a written recipe reads back");
  require(back.to_json() == written, "writing is stable");
  plan_casts(small_graph(), colour_recipe(small_graph(), recipe));
  return 0;
}
