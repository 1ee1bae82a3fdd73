// A graph in binary64: what the dtypes of a graph are measured by.
#include "src/precision/in_float64.h"

#include <gtest/gtest.h>

#include "softamp/graph/executor.h"

namespace softamp::test {
namespace {

TEST(InFloat64, EveryOperationIsThereAndConstantsKeepTheirValues) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {2});
  const Port third = b.add("RealDiv", {x, b.constant(Tensor::full(DType::kFloat32, {}, 3), "three")}, {}, "third");
  b.add("Pow", {third, x}, {}, "pow");  // has no float64
  const Port half = b.add("Cast", {third}, {{"DstT", DType::kFloat16}}, "half");
  b.add("Cast", {b.add("Square", {half}, {}, "square")}, {{"DstT", DType::kFloat32}}, "back");
  const Graph graph = b.build();
  const InFloat64 wide = in_float64(graph);
  const double values[] = {1, 2};
  const Tensor fed = Tensor::from_values(DType::kFloat64, {2}, values);
  const Feed feeds[] = {{"x", &fed}};
  const auto value = [&](const char* name) {
    const Port p = wide.ports[static_cast<size_t>(graph.find(name))][0];
    EXPECT_EQ(wide.graph.type(p).dtype, DType::kFloat64) << name;
    const std::string fetches[] = {wide.graph.port_name(p)};
    return make_executor(wide.graph)->run(feeds, fetches).values[0].value(0);
  };
  EXPECT_EQ(value("third"), 1.0 / 3);
  EXPECT_EQ(value("back"), (1.0 / 3) * (1.0 / 3));
  EXPECT_EQ(value("pow"), static_cast<double>(1.0f / 3.0f));
}

}  // namespace
}  // namespace softamp::test
