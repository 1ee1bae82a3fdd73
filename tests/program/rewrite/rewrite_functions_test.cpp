// `softamp rewrite` on GraphDefs with functions: entered by every mechanism, evaluated, written and run.
#include <fstream>

#include "tests/program/rewrite/rewrite_verb.h"

namespace softamp::test {
namespace {

using nlohmann::json;

/// A constant matrix, squared in a function.
std::string called(const std::string& marks = "") {
  return R"(node { name:"c" op:"Const" attr{key:"dtype" value{type:DT_FLOAT}} attr{key:"value" value{tensor{dtype:DT_FLOAT
  tensor_shape{dim{size:2} dim{size:2}} float_val:1.3}}} }
node { name:"y" op:"PartitionedCall" input:"c" attr{key:"Tin" value{list{type:DT_FLOAT}}}
  attr{key:"Tout" value{list{type:DT_FLOAT}}} attr{key:"f" value{func{name:"g"}}} }
node { name:"out" op:"Identity" input:"y" attr{key:"T" value{type:DT_FLOAT}} }
library { function { signature{ name:"g" input_arg{name:"x" type:DT_FLOAT} output_arg{name:"z" type:DT_FLOAT} }
  node_def{ name:"m" op:"MatMul" input:"x" input:"x" attr{key:"T" value{type:DT_FLOAT}} }
  ret{key:"z" value:"m:product:0"} )" +
         marks + "} }\n";
}

TEST_F(RewriteVerb, EntersFunctionsByEveryMechanism) {
  std::ofstream(file("called.pbtxt")) << called();
  for (const char* mechanism : {"--tensorflow", "--tensorflow=2019", "--recipe full", "--recipe basic",
                                "--policy mixed_float16", "--level O2", "--level O1"}) {
    const json r = report("@called.pbtxt " + std::string(mechanism));
    EXPECT_GE(r["converted_nodes"], 1) << mechanism;
    EXPECT_EQ(after_by_node(r)["y/m"], r["low"].get<std::string>()) << mechanism;
    EXPECT_EQ(r["notes"], json::array()) << mechanism;
  }
  const json rows = json_of(success("@called.pbtxt --tensorflow --evaluate --report json"));
  double own = 0;
  for (const json& row : rows["nodes"])
    if (row["node"] == "y/m") own = row["own"]["largest"];
  EXPECT_GT(own, 0);
  success("@called.pbtxt --tensorflow -o @half.pbtxt");
  const Outcome run = run_shell("'" SOFTAMP_PROGRAM "' run '" + file("half.pbtxt") + "'");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("out: float32 [2,2] [[3.3"), std::string::npos) << run.out;
}

TEST_F(RewriteVerb, NamesFunctionsThatItDoesNotWriteOut) {
  std::ofstream(file("inside.pbtxt")) << called(R"(attr{key:"_noinline" value{b:true}})");
  const Outcome o = success("@inside.pbtxt --tensorflow --report json");
  const json r = json_of(o);
  EXPECT_EQ(r["notes"],
            json::array({"'y' (PartitionedCall) of function 'g' is not written out: it is marked '_noinline'"}));
  EXPECT_NE(o.err.find("softamp rewrite: 'y' (PartitionedCall) of function 'g' is not written out"), std::string::npos);
  EXPECT_EQ(after_by_node(r)["g/m"], "float16");
}

}  // namespace
}  // namespace softamp::test
