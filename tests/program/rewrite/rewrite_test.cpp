// `softamp rewrite`: every option, the two-dense-layers network under every mechanism and in both forms of graphs, the
// renderings of the report, every complaint.
#include "tests/csv.h"
#include "tests/program/rewrite/rewrite_verb.h"

#include "softamp/data/images.h"
#include "softamp/graph/graph_json.h"
#include "softamp/precision/graph_def.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace softamp::test {
namespace {

using nlohmann::json;

using Ops = std::multiset<std::string>;
const Ops kPageColours = {"MatMul", "BiasAdd", "Relu", "MatMul"};

// ---- the network of TensorFlow's page (MIXED_PRECISION T17): four nodes become half, five casts

TEST_F(RewriteVerb, TensorFlowsPageAsGraphDef) {
  // The file holds the variables beside their readings, and the axes of the mean: 19 nodes.
  for (const auto& [graph, nodes] : {std::pair<std::string, int>{kTwoDensePbtxt, 19}, {fourteen_nodes(), 14}}) {
    const Outcome o = success(graph + " --tensorflow");
    EXPECT_EQ(o.err,
              "INFO Converted 4/" + std::to_string(nodes) +
                  " nodes to float16 precision using 1 cast(s) to float16 (excluding Const and Variable casts)\n");
    const json r = report(graph + " --tensorflow");
    EXPECT_EQ(r["nodes"], nodes);
    EXPECT_EQ(r["converted_nodes"], 4);
    EXPECT_EQ(r["casts_to_low"], 4);
    EXPECT_EQ(r["casts_to_low_counted"], 1);
    EXPECT_EQ(r["casts_to_float32"], 1);
    EXPECT_EQ(r["casts"].size(), 5u);
    EXPECT_EQ(converted(r), kPageColours);
    EXPECT_EQ(r["low"], "float16");
    EXPECT_TRUE(r["groups"].is_null());
  }
}

TEST_F(RewriteVerb, TensorFlowsPageAsSoftampGraph) {
  const json r = report("{J} --tensorflow");
  EXPECT_EQ(r["messages"], json::array({"INFO Converted 4/14 nodes to float16 precision using 1 cast(s) to float16 "
                                        "(excluding Const and Variable casts)"}));
  EXPECT_EQ(converted(r), kPageColours);
  std::set<std::string> names;
  for (const json& cast : r["casts"]) names.insert(cast["name"]);
  EXPECT_EQ(names, (std::set<std::string>{
                       "x-0-CastToFp16-AutoMixedPrecision", "dense/kernel-0-CastToFp16-AutoMixedPrecision",
                       "dense/bias-0-CastToFp16-AutoMixedPrecision", "dense_1/kernel-0-CastToFp16-AutoMixedPrecision",
                       "dense_1/MatMul-0-CastToFp32-AutoMixedPrecision"}));
  EXPECT_EQ(after_by_node(r)["mse"], "float32");
}

TEST_F(RewriteVerb, TheOptionTakesAPresetAndNeverTheNextWord) {
  EXPECT_EQ(report("--tensorflow {J}"), report("{J} --tensorflow=2.3"));
  EXPECT_EQ(report("{J} --tensorflow=2019")["mechanism"], "tensorflow 2019");
  const json mkl = report("{J} --tensorflow=mkl");
  EXPECT_EQ(mkl["low"], "bfloat16");
  EXPECT_EQ(report("{J} --tensorflow --dtype bf16")["low"], "bfloat16");
}

// ---- written graphs

TEST_F(RewriteVerb, WhatIsWrittenReadsBackRunsAndStaysAsItIs) {
  save_npy(Tensor::from_values(DType::kFloat32, {2, 4}, std::vector<double>{1, -0.5, 0.25, 2, 0.1, 0.7, -1, 0.3}),
           file("x.npy"));
  save_npy(Tensor::from_values(DType::kFloat32, {2, 2}, std::vector<double>{1, 0, 0, 1}), file("y.npy"));
  for (const std::string mechanism : {"--tensorflow", "--tensorflow=2019", "--tensorflow=mkl", "--recipe full",
                                      "--recipe basic", "--policy mixed_float16", "--policy mixed_bfloat16",
                                      "--level O1", "--level O2", "--level O3", "--level O2 --dtype bf16"}) {
    const Outcome o = success("{J} " + mechanism + " -o @out.json");
    EXPECT_EQ(o.out, "") << mechanism;
    const GraphFile written = load_graph(file("out.json"));
    EXPECT_EQ(written.outputs, std::vector<std::string>{"mse"});
    EXPECT_GT(written.graph.size(), 14) << mechanism << ": no cast was added";
    EXPECT_EQ(written.graph.type(written.graph.port("mse")).dtype, DType::kFloat32);
    const Outcome run = run_softamp("run " + file("out.json") + " --feed x=" + file("x.npy") +
                                    " --feed y=" + file("y.npy") + " --quiet");
    EXPECT_EQ(run.code, 0) << mechanism << run.err;
    EXPECT_EQ(run.out.find("mse: float32 [] 0."), 0u) << mechanism << ": " << run.out;
    const json again = report("@out.json " + mechanism);
    EXPECT_EQ(again["casts"], json::array()) << mechanism;
    EXPECT_EQ(converted(again), Ops()) << mechanism;
    EXPECT_EQ(success("@out.json " + mechanism + " -o @again.json").code, 0);
    EXPECT_TRUE(load_graph(file("again.json")).graph == written.graph) << mechanism;
  }
}

TEST_F(RewriteVerb, ABadRecipeIsVisible) {
  // Everything forced: the share in low precision goes up, and the report says which pattern did it.
  write_text(file("bad.json"), R"({"convertible_exceptions": [[".*", ""]]})");
  const json bad = report("{J} --recipe @bad.json"), basic = report("{J} --recipe basic");
  EXPECT_GT(bad["low_share"].get<double>(), basic["low_share"].get<double>());
  for (const json& unit : bad["units"])
    if (unit["op"] == "Softmax") {
      EXPECT_EQ(unit["after"], "bfloat16");
      EXPECT_EQ(unit["reason"], "forced by pattern '.*'");
      EXPECT_EQ(unit["list"], "convertible");
    }
}

TEST_F(RewriteVerb, AGraphDefIsWrittenInBothItsForms) {
  for (const std::string name : {"out.pb", "out.pbtxt", "out.pb.txt"}) {
    const Outcome o = success("{P} --tensorflow -o @" + name);
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(o.err,
              "INFO Converted 4/19 nodes to float16 precision using 1 cast(s) to float16 (excluding Const and "
              "Variable casts)\nsoftamp rewrite: tensorflow 2.3: 4 of 19 nodes converted, 5 casts added; "
              "written to " +
                  file(name) + "\n");
    EXPECT_EQ(GraphDefFile::load(file(name)).size(), 24);
    EXPECT_EQ(report("@" + name + " --tensorflow")["casts"], json::array()) << name;
  }
  EXPECT_EQ(GraphDefFile::load(file("out.pb")).text(), GraphDefFile::load(file("out.pbtxt")).text());
}

TEST_F(RewriteVerb, OutputsOfTheFileOrThoseGivenStay) {
  // Nothing may become half behind a fetch; without outputs what nothing reads is kept.
  const auto types = after_by_node(report("{J} --tensorflow --fetch dense_1/MatMul --fetch mse"));
  EXPECT_EQ(types.at("dense_1/MatMul"), "float32");
  EXPECT_EQ(types.at("dense/MatMul"), "float16");
  success("{J} --tensorflow --fetch dense_1/MatMul:0 -o @out.json");
  EXPECT_EQ(load_graph(file("out.json")).outputs, std::vector<std::string>{"dense_1/MatMul:0"});
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {2, 2});
  b.add("MatMul", {x, x}, {}, "inner");
  b.add("MatMul", {b.add("MatMul", {x, x}, {}, "kept"), x}, {}, "end");
  write_text(file("bare.json"), graph_json(b.build()));
  const auto bare = after_by_node(report("@bare.json --tensorflow"));
  EXPECT_EQ(bare.at("kept"), "float16");
  EXPECT_EQ(bare.at("end"), "float32");
  EXPECT_EQ(bare.at("inner"), "float32");
}

// ---- the other mechanisms

// tests: K21
TEST_F(RewriteVerb, PoliciesAndLevels) {  // MIXED_PRECISION K21: the check of the device
  for (const std::string mechanism : {"--policy mixed_float16", "--level O2", "--level O3", "--level auto"}) {
    const auto types = after_by_node(report("{J} " + mechanism));
    EXPECT_EQ(types.at("dense/MatMul"), "float16") << mechanism;
    EXPECT_EQ(types.at("dense_1/BiasAdd"), "float16") << mechanism;
    EXPECT_EQ(types.at("mse"), "float32") << mechanism;
  }
  EXPECT_EQ(after_by_node(report("{J} --level O2 --dtype bf16")).at("dense/MatMul"), "bfloat16");
  EXPECT_EQ(after_by_node(report("{J} --level O1")).at("dense/BiasAdd"), "float32");
  for (const std::string mechanism : {"--policy float32", "--level O0"}) {
    const json r = report("{J} " + mechanism);
    EXPECT_EQ(r["converted_nodes"], 0) << mechanism;
    EXPECT_EQ(r["casts"], json::array()) << mechanism;
  }
  EXPECT_EQ(
      success("{J} --policy mixed_float16").err.find("INFO Mixed precision compatibility check (mixed_float16): OK\n"),
      0u);
  EXPECT_NE(success("{J} --policy mixed_float16 --gpu-capability 6.1").err.find("(mixed_float16): WARNING"),
            std::string::npos);
}

// tests: H08
TEST_F(RewriteVerb, RecipesOfGaudisPage) {
  // MIXED_PRECISION H08: groups and casts.
  const json basic = report("{P} --recipe basic"), full = report("{P} --recipe full");
  EXPECT_EQ(basic["groups"], 2);
  EXPECT_EQ(basic["casts"].size(), 6u);
  EXPECT_EQ(converted(basic), (Ops{"MatMul", "MatMul"}));
  EXPECT_EQ(full["groups"], 1);
  EXPECT_EQ(full["casts"].size(), 7u);
  EXPECT_EQ(full["low"], "bfloat16");
  EXPECT_EQ(converted(full), (Ops{"MatMul", "BiasAdd", "Relu", "MatMul", "BiasAdd", "Softmax", "SquaredDifference"}));
}

// tests: H17
TEST_F(RewriteVerb, RealRecipes) {
  namespace fs = std::filesystem;
  const fs::path recipes = data_folder().value_or(fs::path(SOFTAMP_SOURCE_DIR) / "../shared/data") / "recipes";
  if (!fs::exists(recipes)) GTEST_SKIP() << "no recipes at " << recipes << "; set SOFTAMP_DATA";
  struct Expected {
    const char* name;
    int groups;
    size_t casts;
  };
  for (const Expected& e :
       {Expected{"basic_1.3.0", 2, 6}, Expected{"full_1.3.0", 1, 7}, Expected{"bert_1.7.1", 2, 8}}) {
    const json r = report("{P} --recipe '" + (recipes / (std::string(e.name) + ".json")).string() + "'");
    EXPECT_EQ(r["groups"], e.groups) << e.name;
    EXPECT_EQ(r["casts"].size(), e.casts) << e.name;
  }
  const std::string unet = (recipes / "unet_1.2.0.json").string();
  EXPECT_EQ(success("{P} --recipe '" + unet + "' --report json --output-report @u.json").out, "");
  EXPECT_EQ(json::parse(read_text(file("u.json")))["low"], "bfloat16");
}

// tests: H11
TEST_F(RewriteVerb, PatternsMatchWholeNamesUnlessToldToSearch) {
  write_text(file("r.json"), R"({"convertible_exceptions": [["MatMul", ""]]})");
  EXPECT_EQ(converted(report("{J} --recipe @r.json")), Ops());
  EXPECT_EQ(converted(report("{J} --recipe @r.json --regex full")), Ops());
  EXPECT_EQ(converted(report("{J} --recipe @r.json --regex search")), (Ops{"MatMul", "MatMul"}));
}

// tests: T07
TEST_F(RewriteVerb, ListsMayBeChanged) {
  const json r = report("{J} --tensorflow --remove deny=Mean --add allow=Mean,SquaredDifference");
  EXPECT_EQ(r["mechanism"], "tensorflow 2.3, lists changed");
  const auto types = after_by_node(r);
  EXPECT_EQ(types.at("squared_error"), "float16");
  EXPECT_EQ(types.at("mse"), "float32") << "the output";
  EXPECT_EQ(after_by_node(report("{J} --tensorflow --remove whitelist=MatMul --add black=MatMul")).at("dense/MatMul"),
            "float32");
  EXPECT_NE(success("{J} --tensorflow --add allow=Cumsum").err.find("--add: the graph has no operation 'Cumsum'\n"),
            std::string::npos);
}

TEST_F(RewriteVerb, DevicesAndCapabilities) {
  const std::string skipped = "WARNING No (suitable) GPUs detected, skipping auto_mixed_precision graph optimizer\n";
  EXPECT_EQ(success("{J} --tensorflow --cpu").err, skipped);
  EXPECT_EQ(success("{J} --tensorflow --gpu-capability 6.9 --quiet").err, skipped) << "a warning is no talk";
  EXPECT_EQ(success("{J} --tensorflow --gpu-capability 8 --quiet").err, "");
  EXPECT_EQ(report("{J} --tensorflow --cpu")["converted_nodes"], 0);
  EXPECT_EQ(report("{P} --tensorflow --cpu")["nodes"], 19);
  EXPECT_EQ(converted(report("{J} --tensorflow=mkl --cpu")), converted(report("{J} --tensorflow=mkl")));
  std::string placed = read_text(kTwoDenseJson);
  const std::string product = R"("inputs": ["x", "dense/kernel"])";
  placed.insert(placed.find(product) + product.size(), R"(, "attributes": {"device": "/cpu:0"})");
  write_text(file("placed.json"), placed);
  const auto types = after_by_node(report("@placed.json --tensorflow"));
  EXPECT_EQ(types.at("dense/MatMul"), "float32");
  EXPECT_EQ(types.at("dense_1/MatMul"), "float16");
}

TEST_F(RewriteVerb, TheEnvironmentWhenAsked) {
  const std::string prefix = "TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_";
  const std::string black = prefix + "BLACKLIST_ADD=Relu";
  EXPECT_EQ(after_by_node(report("{J} --tensorflow", black)).at("dense/Relu"), "float16");
  EXPECT_EQ(after_by_node(report("{J} --tensorflow --remove clear=Relu --add deny=Relu")).at("dense/Relu"), "float32");
  EXPECT_EQ(after_by_node(report("{J} --tensorflow --environment", prefix + "CLEARLIST_REMOVE=Relu " + black))
                .at("dense/Relu"),
            "float32");
  EXPECT_NE(error("{J} --tensorflow --environment", black).find("Op lists have conflicting entries"),
            std::string::npos);
  EXPECT_EQ(converted(report("{J} --tensorflow --environment", prefix + "LEVEL=TENSOR_CORES_ONLY")),
            (Ops{"MatMul", "MatMul"}));
  EXPECT_NE(error("{J} --tensorflow --environment", prefix + "LEVEL=MAXIMUM").find("MAXIMUM"), std::string::npos);
  EXPECT_EQ(converted(report("{J} --tensorflow --environment --gpu-capability 6", prefix + "IGNORE_PERFORMANCE=1")),
            kPageColours);
  success("{J} --tensorflow --environment", prefix + "LOG_PATH=" + folder_.path().string());
  EXPECT_GE(folder_.entries(), 3u) << "the graph before, after, and the lists";
  const Outcome dumped = success("{J} --recipe full --environment", "TF_BF16_DUMP_PATH=" + file("dump.json"));
  EXPECT_NE(dumped.err.find("INFO the recipe is written to " + file("dump.json")), std::string::npos);
  EXPECT_EQ(report("{J} --recipe @dump.json")["units"], report("{J} --recipe full")["units"]);
  EXPECT_EQ(converted(report("{J} --environment", "TF_BF16_CONVERSION=basic")), (Ops{"MatMul", "MatMul"}));
  EXPECT_EQ(error("{J} --environment"),
            "no mechanism is given; expected --tensorflow, --recipe, --policy, --level or --recipe-fp8, or "
            "TF_BF16_CONVERSION to "
            "name a recipe\n");
}

// ---- the report

TEST_F(RewriteVerb, SummaryAndTable) {
  const Outcome o = success("{J} --tensorflow --quiet");
  EXPECT_EQ(o.err, "");
  EXPECT_EQ(o.out,
            "mechanism      tensorflow 2.3, low precision float16\n"
            "nodes          14, 4 converted\n"
            "casts          5 added: 4 to float16 (3 of constants and variables), 1 to float32\n"
            "low precision  28.6 %: 4 of 14 nodes of floating type, afterwards\n"
            "\n"
            "list      operation          of floating type  converted\n"
            "allow     MatMul                            2          2\n"
            "clear     Relu                              1          1\n"
            "deny      Mean                              1          0\n"
            "infer     BiasAdd                           2          1\n"
            "infer     Softmax                           1          0\n"
            "unlisted  Const                             4          0\n"
            "unlisted  Placeholder                       2          0\n"
            "unlisted  SquaredDifference                 1          0\n");
  EXPECT_EQ(success("{J} --tensorflow --quiet --report summary").out, o.out);
  const std::string table = success("{J} --recipe full --report table").out;
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 15);
  EXPECT_EQ(table.find("node             op                 attribute  list"), 0u) << table;
  EXPECT_NE(table.find("  group  reason\n"), std::string::npos);
}

TEST_F(RewriteVerb, CsvHasAlineToEachUnitAndSumsThatAgree) {
  const auto lines = parse_csv(success("{J} --tensorflow --report csv").out);
  ASSERT_EQ(lines.size(), 15u);
  EXPECT_EQ(lines[0], (std::vector<std::string>{"node", "op", "device", "layer", "attribute", "list", "before", "after",
                                                "casts_in", "casts_out", "group", "reason"}));
  int in = 0, out = 0;
  for (size_t l = 1; l < lines.size(); ++l) {
    ASSERT_EQ(lines[l].size(), 12u) << l;
    EXPECT_NE(lines[l][11], "") << lines[l][0] << ": no reason";
    in += std::stoi(lines[l][8]);
    out += std::stoi(lines[l][9]);
  }
  EXPECT_EQ(out, 5);
  EXPECT_EQ(in, 5);
}

TEST_F(RewriteVerb, DotHasEveryNodeCastAndEdgeOnce) {
  const std::string dot = success("{J} --recipe full --report dot").out;
  const json r = report("{J} --recipe full");
  const auto count = [&](const std::string& word) {
    size_t n = 0;
    for (size_t at = 0; (at = dot.find(word, at)) != std::string::npos; at += word.size()) ++n;
    return n;
  };
  EXPECT_EQ(dot.find("digraph softamp {\n"), 0u);
  EXPECT_EQ(dot.substr(dot.size() - 2), "}\n");
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
  EXPECT_EQ(count(", fillcolor="), 14 + r["casts"].size());
  EXPECT_EQ(count("shape=ellipse"), r["casts"].size());
  EXPECT_EQ(count(" -> "), 13 + r["casts"].size()) << "the graph's edges, and one to each cast";
  EXPECT_EQ(count("subgraph cluster_"), r["groups"].get<size_t>());
  EXPECT_EQ(count("fillcolor=\"#c8e6c9\""), r["converted_nodes"].get<size_t>());
}

TEST_F(RewriteVerb, TheReportsFileSaysItsForm) {
  success("{J} --tensorflow --output-report @r.csv --quiet");
  EXPECT_EQ(read_text(file("r.csv")), success("{J} --tensorflow --report csv").out);
  success("{J} --tensorflow --output-report @r.json --quiet -o @out.json");
  EXPECT_TRUE(json::accept(read_text(file("r.json"))));
  success("{J} --tensorflow --output-report @r.dot --quiet");
  EXPECT_EQ(read_text(file("r.dot")).find("digraph"), 0u);
  success("{J} --tensorflow --output-report @r.txt --quiet");
  EXPECT_EQ(read_text(file("r.txt")), success("{J} --tensorflow --report table").out);
  EXPECT_EQ(success("{J} --tensorflow --report csv --output-report @r.txt -o @out.json").out, "");
  EXPECT_EQ(read_text(file("r.txt")), read_text(file("r.csv")));
}

// ---- complaints

TEST_F(RewriteVerb, TwoMechanismsAreRefusedInTheSystemsWords) {
  EXPECT_EQ(error("{J} --policy mixed_float16 --tensorflow")
                .find("The mixed precision graph rewrite cannot be enabled, because the global Keras dtype Policy has "
                      "been set to a mixed precision policy"),
            0u);
  EXPECT_EQ(error("{J} --tensorflow --policy mixed_float16")
                .find("The global dtype policy cannot be set to \"mixed_float16\", because the mixed precision graph "
                      "rewrite has already been enabled"),
            0u);
  EXPECT_NE(error("{J} --recipe full --policy mixed_float16"), "");
  EXPECT_NE(error("{J} --recipe full --tensorflow"), "");
  EXPECT_EQ(error("{J} --level O2 --tensorflow"), "--level, --tensorflow: expected one mechanism\n");
  EXPECT_EQ(error("{J} --policy float32 --tensorflow"), "--policy, --tensorflow: expected one mechanism\n");
}

TEST_F(RewriteVerb, UnknownWords) {
  const auto contains = [&](const std::string& arguments, const std::vector<std::string>& words) {
    const std::string text = error(arguments);
    for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << arguments << ": " << text;
  };
  EXPECT_EQ(error("{J}"),
            "no mechanism is given; expected --tensorflow, --recipe, --policy, --level or --recipe-fp8\n");
  contains("{J} --tensorflow=2.4", {"2.4", "2.3", "2019", "mkl"});
  contains("{J} --recipe ful", {"ful", "full", "basic"});
  contains("{J} --policy abc", {"Cannot convert value abc to a mixed precision Policy."});
  contains("{J} --level O7", {"O7", "O0", "auto"});
  contains("{J} --level auto --cpu", {"Level `auto` only support when `device_target` is GPU or Ascend."});
  contains("{J} --tensorflow --dtype fp8", {"fp8", "float16"});
  contains("{J} --policy mixed_float16 --dtype bf16", {"dtype"});
  contains("{J} --tensorflow --report tabel", {"--report", "'tabel'", "nearest: table"});
  contains("{J} --recipe full --regex partial", {"--regex", "'partial'", "full", "search"});
  contains("{J} --tensorflow --add allow", {"--add: 'allow': expected LIST=OP,OP"});
  contains("{J} --tensorflow --add allow=,", {"--add: 'allow=,': expected LIST=OP,OP"});
  contains("{J} --tensorflow --add alow=Relu", {"--add", "alow", "allow"});
  contains("{J} --tensorflow --add allow=Relu", {"Op lists have conflicting entries", "Relu"});
  contains("{J} --tensorflow --remove deny=Meen", {"--remove", "Meen", "nearest: Mean"});
  contains("{J} --tensorflow --gpu-capability seven", {"--gpu-capability: 'seven': expected a number such as 7.0"});
  contains("{J} --tensorflow --gpu-capability nan", {"--gpu-capability: 'nan'"});
  contains("{J} --tensorflow --fetch nowhere", {"--fetch: the graph has no node 'nowhere'"});
  contains("{J} --tensorflow --fetch mse:1", {"--fetch: 'mse:1': node 'mse' has 1 output"});
  contains("{P} --tensorflow --fetch nowhere", {"nowhere"});
  contains("{J} --tensorflow --rapport csv", {"--rapport", "nearest: --report"});
}

TEST_F(RewriteVerb, OptionsOfOtherMechanisms) {
  EXPECT_EQ(error("{J} --recipe full --add allow=Relu"), "--add: expected with --tensorflow\n");
  EXPECT_EQ(error("{J} --policy mixed_float16 --remove allow=Relu"), "--remove: expected with --tensorflow\n");
  EXPECT_EQ(error("{J} --tensorflow --lenient"), "--lenient: expected with --recipe\n");
  EXPECT_EQ(error("{J} --tensorflow --regex search"), "--regex: expected with --recipe\n");
  EXPECT_EQ(error("{J} --level O2 --gpu-capability 7"), "--gpu-capability: expected with --tensorflow or --policy\n");
  EXPECT_EQ(error("{J} --recipe full --cpu"), "--cpu: expected with --tensorflow or --level\n");
}

TEST_F(RewriteVerb, Files) {
  EXPECT_EQ(error("@no.json --tensorflow").find("@no.json"), 0u);
  EXPECT_EQ(error("@no.pb --tensorflow").find("@no.pb"), 0u);
  EXPECT_EQ(error("@graph.onnx --tensorflow"),
            "'@graph.onnx': expected a name that ends in .json, .pb, .pbtxt or .pb.txt\n");
  EXPECT_EQ(error("{J} --tensorflow -o @out.txt"),
            "--out: '@out.txt': expected a name that ends in .json, .pb, .pbtxt or .pb.txt\n");
  EXPECT_EQ(error("{J} --tensorflow -o @out.pb"),
            "--out: '@out.pb': a softamp graph is not written as a GraphDef; expected a name that ends in .json\n");
  EXPECT_NE(error("{P} --tensorflow -o @out.json").find("expected a name that ends in .pb, .pbtxt or .pb.txt\n"),
            std::string::npos);
  EXPECT_EQ(error("{J} --tensorflow -o @none/out.json"),
            "--out: '@none/out.json' cannot be written: No such file or directory\n");
  EXPECT_EQ(error("{J} --tensorflow --quiet --output-report @none/r.csv"),
            "--output-report: '@none/r.csv' cannot be written: No such file or directory\n");
  EXPECT_EQ(error("{J} --tensorflow -o @a.json --output-report @./a.json"),
            "--output-report: '@./a.json' is the file of --out; expected another file\n");
  write_text(file("broken.json"), "{\"softamp_graph\": 1,\n \"nodes\": [,]}");
  EXPECT_NE(error("@broken.json --tensorflow").find("line 2"), std::string::npos);
  write_text(file("recipe.json"), "{\"allowlist\": [\"MatMul\",],}");
  EXPECT_NE(error("{J} --recipe @recipe.json").find("line 1"), std::string::npos);
  write_text(file("key.json"), "{\"allowlst\": []}");
  EXPECT_NE(error("{J} --recipe @key.json").find("allowlist"), std::string::npos);
  write_text(file("pattern.json"), R"({"convertible_exceptions": [["(a", ""]]})");
  EXPECT_NE(error("{J} --recipe @pattern.json").find("(a"), std::string::npos);
  write_text(file("broken.pbtxt"), "node {\n name: 3\n}");
  EXPECT_NE(error("@broken.pbtxt --tensorflow").find("@broken.pbtxt"), std::string::npos);
  write_text(file("empty.pb"), "");
  EXPECT_EQ(error("@empty.pb --tensorflow"), "@empty.pb: the file is empty; expected a GraphDef\n");
  EXPECT_EQ(error("{J} --tensorflow -o ''"), "--out: the value is empty; expected FILE\n");
  EXPECT_EQ(error("{J} --tensorflow --output-report ''"), "--output-report: the value is empty; expected FILE\n");
  EXPECT_EQ(error("{J} --tensorflow --dtype ''"), "--dtype: the value is empty; expected WORD\n");
  const std::string longest(300, 'a');
  EXPECT_EQ(error("{J} --tensorflow --quiet -o @o.json --output-report @" + longest),
            "--output-report: '@" + longest + "' cannot be written: File name too long\n");
}

TEST_F(RewriteVerb, NothingThatIsReadIsOverwrittenButTheGraphByItself) {
  const std::string graph = read_text(kTwoDenseJson), recipe = R"({"allowlist": ["MatMul"]})";
  write_text(file("graph.json"), graph);
  write_text(file("recipe.json"), recipe);
  std::filesystem::create_symlink(file("graph.json"), file("link.json"));
  for (const std::string name : {"graph.json", "./graph.json", "link.json"})
    EXPECT_EQ(error("@graph.json --tensorflow --output-report @" + name),
              "--output-report: '@" + name + "' is the graph that is read; expected another file\n");
  EXPECT_EQ(error("{J} --recipe @recipe.json -o @recipe.json"),
            "--out: '@recipe.json' is the recipe that is read; expected another file\n");
  EXPECT_EQ(error("{J} --recipe @recipe.json --output-report @recipe.json"),
            "--output-report: '@recipe.json' is the recipe that is read; expected another file\n");
  EXPECT_EQ(read_text(file("graph.json")), graph);
  EXPECT_EQ(read_text(file("recipe.json")), recipe);
  success("@graph.json --recipe @recipe.json -o @graph.json");
  success("@graph.json --tensorflow --quiet --output-report /dev/null");
  EXPECT_EQ(load_graph(file("graph.json")).graph.size(), 20);
}

}  // namespace
}  // namespace softamp::test
