// Graphs as a listing and as a drawing.
#include "softamp/graph/graph_text.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace softamp;

namespace {

Graph example() {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {4, 2});
  const auto scope = b.scope("net");
  const Port parts = b.add("Split", {x}, {{"num_split", 2}, {"axis", 0}}, "parts");
  const auto inner = b.scope("end");
  b.add("PrintTensor", {{parts.node, 1}}, {{"message", "a \"b\""}}, "show");
  b.add("Squeeze", {x});
  b.constant(Tensor::full(DType::kBool, {}, 1));
  b.constant(Tensor::full(DType::kFloat32, {3}, 1));
  return b.build();
}

}  // namespace

TEST(GraphText, OneAlignedLineToANode) {
  EXPECT_EQ(text(example()),
            "x               = Placeholder()            : float16[4,2]\n"
            "net/parts       = Split(x)                 : float16[2,2], float16[2,2]  {num_split=2, axis=0}\n"
            "net/end/show    = PrintTensor(net/parts:1) : float16[2,2]                {message='a \"b\"'}\n"
            "net/end/Squeeze = Squeeze(x)               : float16[4,2]\n"
            "net/end/Const   = Const()                  : bool[]                      {value=bool[] 1}\n"
            "net/end/Const_1 = Const()                  : float32[3]                  {value=float32[3]}\n");
  EXPECT_EQ(text(Graph{}), "");
}

TEST(GraphDot, ClustersColoursAndEscapes) {
  const std::string drawing = dot(example());
  for (const char* part :
       {"digraph softamp {\n", "subgraph cluster_0 {\n    label=\"net\";\n",
        "subgraph cluster_1 {\n      label=\"end\";\n", "n0 [label=\"x\\nPlaceholder\", fillcolor=\"#c8e6c9\"];\n",
        "n2 [label=\"show\\nPrintTensor\\n{message='a \\\"b\\\"'}\", fillcolor=\"#c8e6c9\"];\n",
        "n0 -> n1 [label=\"float16[4,2]\"];\n", "n1 -> n2 [label=\":1 float16[2,2]\"];\n"})
    EXPECT_NE(drawing.find(part), std::string::npos) << part << "\n" << drawing;
  EXPECT_EQ(std::count(drawing.begin(), drawing.end(), '{'), std::count(drawing.begin(), drawing.end(), '}'));
}
