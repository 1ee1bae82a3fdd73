// `softamp rewrite --evaluate`: what each node loses, by figures worked out by hand and by runs of the graphs
// themselves.
#include "tests/program/rewrite/rewrite_verb.h"

#include "softamp/data/npz.h"
#include "softamp/graph/graph_json.h"
#include "softamp/tensor/tensor.h"
#include "src/data/archive.h"

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_real_distribution.hpp>
#include <cmath>
#include <cstring>

namespace softamp::test {
namespace {

using nlohmann::json;

const std::string kExampleFolder = SOFTAMP_SOURCE_DIR "/examples/graphs/";

class Evaluate : public RewriteVerb {
 protected:
  void save(const std::string& name, const Shape& shape, const std::vector<double>& values) const {
    save_npy(Tensor::from_values(DType::kFloat32, shape, values), file(name));
  }
  void save_drawn(const std::string& name, const Shape& shape) const {
    boost::random::mt19937 random(7);
    boost::random::uniform_real_distribution<double> within(-2, 2);
    std::vector<double> values(static_cast<size_t>(shape.elements()));
    for (double& v : values) v = within(random);
    save(name, shape, values);
  }
  json rows(const std::string& arguments) { return report(arguments + " --quiet")["nodes"]; }
  static json row(const json& rows, const std::string& node) {
    for (const json& r : rows)
      if (r["node"] == node) return r;
    ADD_FAILURE() << node << " is missing";
    return json::object();
  }
};

/// y = -((x w) c) 1, x = 1 + 2^-9, w = 1, c = 1 + 2^-8, and "big", 300 times 400, whose product does not fit float16.
std::string products() {
  GraphBuilder b;
  const auto constant = [&](double v, const char* name) {
    return b.constant(Tensor::full(DType::kFloat32, {1, 1}, v), name);
  };
  const Port x = b.placeholder("x", DType::kFloat32, {1, 1});
  const Port p = b.add("MatMul", {x, constant(1, "w")}, {}, "p");
  const Port z = b.add("Mul", {p, constant(1 + 0x1p-8, "c")}, {}, "z");
  const Port m = b.add("Mul", {z, constant(1, "one")}, {}, "m");
  b.add("Neg", {m}, {}, "y");
  const Port big = b.add("MatMul", {constant(300, "big_a"), constant(400, "big_b")}, {}, "big");
  b.add("Neg", {big}, {}, "big_y");
  const Port tiny = b.add("MatMul", {constant(0x1p-12, "tiny_a"), constant(0x1.2p-11, "tiny_b")}, {}, "tiny");
  b.add("Neg", {tiny}, {}, "tiny_y");
  return graph_json(b.build());
}

TEST_F(Evaluate, FiguresByHand) {
  write_text(file("g.json"), products());
  save("x.npy", {1, 1}, {1 + 0x1p-9});
  // bfloat16 has 8 bits: 1 + 2^-9 and, to even, 1 + 2^-8 become 1.
  const json bf16 = rows("@g.json --recipe full --evaluate --feed x=@x.npy");
  const double x = 1 + 0x1p-9, c = 1 + 0x1p-8;
  EXPECT_DOUBLE_EQ(row(bf16, "p")["own"]["largest"].get<double>(), (x - 1) / x);
  EXPECT_DOUBLE_EQ(row(bf16, "p")["error"]["largest"].get<double>(), (x - 1) / x);
  const double z = static_cast<double>(static_cast<float>(x * c));
  EXPECT_DOUBLE_EQ(row(bf16, "z")["own"]["largest"].get<double>(), (z - 1) / z);
  EXPECT_DOUBLE_EQ(row(bf16, "z")["error"]["mean"].get<double>(), (z - 1) / z);
  EXPECT_DOUBLE_EQ(row(bf16, "z")["binary64"]["largest"].get<double>(), (x * c - 1) / (x * c));
  // z as it was is nearer to 1 + 2^-7, but what arrives is 1.
  EXPECT_DOUBLE_EQ(row(bf16, "m")["own"]["largest"].get<double>(), (1 + 0x1p-7 - z) / z);
  EXPECT_DOUBLE_EQ(row(bf16, "m")["error"]["largest"].get<double>(), (z - 1) / z);
  EXPECT_EQ(row(bf16, "y")["own"]["largest"].get<double>(), 0);  // fetched: it stays float32
  EXPECT_DOUBLE_EQ(row(bf16, "y")["error"]["largest"].get<double>(), (z - 1) / z);
  EXPECT_EQ(row(bf16, "p")["dtype"], "bfloat16");
  EXPECT_EQ(row(bf16, "y")["dtype"], "float32");
  EXPECT_EQ(row(bf16, "big")["own"]["largest"].get<double>(), (120000 - 119808.0) / 120000);  // a multiple of 512

  const json fp16 = rows("@g.json --tensorflow --evaluate --feed x=@x.npy --preset ipu");
  const json big = row(fp16, "big");
  EXPECT_EQ(big["saturated"], 1);
  EXPECT_NE(big["flags"].get<std::string>().find("overflow"), std::string::npos) << big;
  EXPECT_DOUBLE_EQ(big["own"]["largest"].get<double>(), (120000 - 65504.0) / 120000);
  EXPECT_EQ(fp16[0]["node"], "big");  // the worst
  EXPECT_EQ(row(fp16, "tiny")["subnormals"], 1);
  EXPECT_DOUBLE_EQ(row(fp16, "tiny")["own"]["largest"].get<double>(), 0.125 / 1.125);
  EXPECT_EQ(row(fp16, "p")["own"]["largest"].get<double>(), 0);
  const Outcome table = success("@g.json --tensorflow --quiet --evaluate --feed x=@x.npy --preset ipu --top 2");
  EXPECT_NE(table.out.find("\nmost by itself: 'big' (MatMul, float16), 0.454\n"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("\nand "), std::string::npos);
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 8);
  // As TensorFlow computes it, the product is infinite.
  const json ieee = rows("@g.json --tensorflow --evaluate --feed x=@x.npy");
  EXPECT_EQ(row(ieee, "big")["nonfinite"], 1);
  EXPECT_EQ(row(ieee, "big")["saturated"], 0);
  EXPECT_EQ(row(ieee, "big")["flags"], "overflow");
  EXPECT_TRUE(row(ieee, "big")["own"]["largest"].is_null());
  EXPECT_TRUE(row(ieee, "big_y")["error"]["largest"].is_null());
  EXPECT_EQ(row(ieee, "p")["flags"], "") << "that a result is inexact is not told";
  // Nothing is converted: nothing is lost.
  const Outcome none = success("@g.json --policy float32 --quiet --evaluate --feed x=@x.npy");
  EXPECT_NE(none.out.find("\nno node adds an error by itself\n"), std::string::npos) << none.out << none.err;
}

TEST_F(Evaluate, AnOverflowOfAnAddedCastCountsWhereItIsRead) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {1, 2});
  const Port w = b.constant(Tensor::from_values(DType::kFloat32, {2, 1}, {1, -1}), "w");
  const Port p = b.add("MatMul", {x, w}, {}, "p");
  b.add("Identity", {b.add("Neg", {p}, {}, "n")}, {}, "y");
  write_text(file("g.json"), graph_json(b.build()));
  save("x.npy", {1, 2}, {1e6, 1e6});
  // Infinity minus itself: TensorFlow gives NaN.
  const json found = row(rows("@g.json --tensorflow --evaluate --feed x=@x.npy"), "p");
  EXPECT_NE(found["flags"].get<std::string>().find("overflow"), std::string::npos) << found;
  EXPECT_NE(found["flags"].get<std::string>().find("invalid"), std::string::npos) << found;
  EXPECT_EQ(found["nonfinite"], 3) << "two of the cast, one of the product";
  EXPECT_EQ(found["elements"], 1);
  EXPECT_TRUE(found["error"]["largest"].is_null());
  const json ipu = row(rows("@g.json --tensorflow --evaluate --feed x=@x.npy --preset ipu"), "p");
  EXPECT_EQ(ipu["saturated"], 2);
  EXPECT_EQ(ipu["nonfinite"], 0);
  EXPECT_EQ(ipu["flags"], "overflow");
  EXPECT_EQ(error("@g.json --tensorflow --preset ipu"), "--preset: expected with --advise or --evaluate\n");
}

TEST_F(Evaluate, ARewrittenGraphIsRunAsItWasEvaluated) {
  write_text(file("g.json"), products());
  save("x.npy", {1, 1}, {1 + 0x1p-9});
  success("@g.json --tensorflow --quiet -o @half.json");
  const Outcome half = run_softamp("run " + file("half.json") + " --quiet --fetch big_y --feed x=" + file("x.npy"));
  EXPECT_EQ(half.out, "big_y: float32 [1,1] [[-inf]]\n") << half.err;
  // A file that says ipu keeps it.
  std::string text = products();
  text.insert(text.find("\"nodes\""), "\"preset\": \"ipu\", ");
  write_text(file("i.json"), text);
  EXPECT_EQ(row(rows("@i.json --tensorflow --evaluate --feed x=@x.npy"), "big")["saturated"], 1);
}

TEST_F(Evaluate, AnAdviceIsThatOfTheSystem) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {1, 1});
  const Port c = b.constant(Tensor::full(DType::kFloat32, {1, 1}, 2), "c");
  b.add("Neg", {b.add("MatMul", {x, c}, {}, "p")}, {}, "y");
  write_text(file("g.json"), graph_json(b.build()));
  save("x.npy", {1, 1}, {0x1.fep126});  // twice that is 0x1.fep127, the largest of bfloat16
  EXPECT_NE(success("@g.json --advise --feed x=@x.npy").out.find("advice: Full"), std::string::npos);
  save("x.npy", {1, 1}, {0x1.ffp126});  // to even: 2^127, and twice that is no bfloat16
  EXPECT_NE(success("@g.json --advise --feed x=@x.npy").out.find("advice: neither"), std::string::npos);
}

/// |was - is| of the largest |was|: the largest, as another program would work it out.
double largest_of(const Tensor& was, const Tensor& is) {
  double most = 0, scale = 0;
  for (int64_t i = 0; i < was.elements(); ++i) {
    most = std::max(most, std::fabs(was.value(i) - is.value(i)));
    scale = std::max(scale, std::fabs(was.value(i)));
  }
  return most / scale;
}

TEST_F(Evaluate, ExamplesBeforeAndAfter) {
  save_drawn("x.npy", {2, 2, 6, 6});
  save_drawn("sequence.npy", {4, 2, 3});
  save_drawn("images.npy", {4, 28, 28, 1});
  const Outcome trained = run_softamp(
      "train --set generated=true --set train_images=640 --set epochs=1 "
      "--set evaluate=false --quiet --checkpoint " +
      file("cnn.npz"));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const struct {
    const char *graph, *fetch, *values;
  } examples[] = {
      {"chain.pbtxt", "fetch", ""},
      {"conv_norm.pbtxt", "logits", "--feed x=@x.npy"},
      {"recurrent.pbtxt", "out/Sigmoid", "--feed sequence=@sequence.npy"},
      {"small_cnn.pbtxt", "predictions", "--feed images=@images.npy --variables @cnn.npz"},
  };
  for (const auto& e : examples) {
    const std::string what = kExampleFolder + e.graph + " --fetch " + e.fetch + " " + e.values;
    const json found = rows(what + " --tensorflow --evaluate -o @after.pb");
    ASSERT_GT(found.size(), 5u) << e.graph;
    EXPECT_GT(found[0]["own"]["largest"].get<double>(), 0) << e.graph;
    for (size_t i = 1; i < found.size(); ++i)
      EXPECT_GE(found[i - 1]["own"]["largest"].get<double>(), found[i]["own"]["largest"].get<double>()) << e.graph;
    // The error of what is fetched is that of two runs.
    const auto ran = [&](const std::string& graph, const std::string& folder) {
      const Outcome o = run_softamp("run " + graph + " --quiet --fetch " + e.fetch + " " + filled(e.values) +
                                    " --out " + file(folder));
      EXPECT_EQ(o.code, 0) << o.err;
      std::string name = e.fetch;
      std::replace(name.begin(), name.end(), '/', '_');
      return load_npy(file(folder + "/" + name + ".npy"));
    };
    const Tensor was = ran(kExampleFolder + e.graph, "was"), is = ran(file("after.pb"), "is");
    EXPECT_DOUBLE_EQ(row(found, e.fetch)["error"]["largest"].get<double>(), largest_of(was, is)) << e.graph;
  }
}

TEST_F(Evaluate, RandomValuesAreThoseOfBefore) {
  // A dropout: without its own draws the graph after would differ by the whole of an element.
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {8, 8});
  const Port w = b.constant(Tensor::full(DType::kFloat32, {8, 8}, 0.125), "w");
  const Port h = b.add("MatMul", {x, w}, {}, "h");
  const Port u = b.add("RandomUniform", {}, {{"shape", Shape{8, 8}}}, "u");
  const Port kept = b.add("GreaterEqual", {u, b.constant(Tensor::full(DType::kFloat32, {}, 0.5), "rate")}, {}, "kept");
  const Port dropped =
      b.add("SelectV2", {kept, h, b.constant(Tensor::full(DType::kFloat32, {8, 8}, 0), "none")}, {}, "dropped");
  b.add("MatMul", {dropped, w}, {}, "y");
  write_text(file("dropout.json"), graph_json(b.build()));
  const json found = rows("@dropout.json --tensorflow --evaluate");
  EXPECT_EQ(row(found, "h")["dtype"], "float16");
  EXPECT_GT(row(found, "dropped")["error"]["largest"].get<double>(), 0);
  EXPECT_LT(row(found, "dropped")["error"]["largest"].get<double>(), 0x1p-9);
  EXPECT_LT(row(found, "dropped")["binary64"]["largest"].get<double>(), 0x1p-9);
  EXPECT_EQ(row(found, "u")["error"]["largest"].get<double>(), 0);
}

TEST_F(Evaluate, ValuesFromAnArchive) {
  write_text(file("g.json"), products());
  save("x.npy", {1, 1}, {1 + 0x1p-9});
  const std::string bytes = read_text(file("x.npy"));
  archive::Entry entry{"x.npy", std::vector<std::byte>(bytes.size())};
  std::memcpy(entry.bytes.data(), bytes.data(), bytes.size());
  {
    files::OutputFile out(file("feeds.npz"));
    archive::write_zip(out, std::vector<archive::Entry>{entry});
    out.commit();
  }
  EXPECT_EQ(rows("@g.json --recipe full --evaluate @feeds.npz"),
            rows("@g.json --recipe full --evaluate --feed x=@x.npy"));
  EXPECT_NE(rows("@g.json --recipe full --evaluate --seed 3"), rows("@g.json --recipe full --evaluate @feeds.npz"));
  // CSV has the same figures.
  const std::string csv = success("@g.json --recipe full --quiet --evaluate @feeds.npz --report csv").out;
  EXPECT_EQ(csv.find("node,op,dtype,own,own_mean,error,error_mean,binary64,binary64_mean,flags,elements,subnormals,"
                     "saturated,nonfinite\n"),
            0u)
      << csv;
}

/// y = x w, then a head that stays float32: a product of 32 elements, one of which is not in e4m3.
std::string linear_layers() {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {1, 32});
  const auto ones = [&](Shape shape, const char* name) {
    return b.constant(Tensor::full(DType::kFloat32, shape, 1), name);
  };
  const Port y = b.add("MatMul", {x, ones({32, 1}, "w")}, {}, "y");
  b.add("Identity", {b.add("MatMul", {y, ones({1, 1}, "v")}, {}, "head")}, {}, "out");
  return graph_json(b.build());
}

TEST_F(Evaluate, RecipesOfBlockFormats) {
  write_text(file("g.json"), linear_layers());
  std::vector<double> x(32, 1);
  x[5] = 1.0625;  // e4m3 has 1 and 1.125: to even 1
  save("x.npy", {1, 32}, x);
  const json found = rows("@g.json --recipe-fp8 mxfp8 --evaluate --feed x=@x.npy");
  EXPECT_DOUBLE_EQ(row(found, "y")["own"]["largest"].get<double>(), 0.0625 / 32.0625);
  EXPECT_DOUBLE_EQ(row(found, "out")["error"]["largest"].get<double>(), 0.0625 / 32.0625);
  EXPECT_DOUBLE_EQ(row(found, "out")["binary64"]["largest"].get<double>(), 0.0625 / 32.0625);
  EXPECT_EQ(row(found, "head")["own"]["largest"].get<double>(), 0) << "the head stays float32";
  EXPECT_EQ(row(found, "y")["dtype"], "float32");
  // With sums of its own, the product is another operation.
  const json summed = rows("@g.json --recipe-fp8 deepseek_v3 --evaluate --feed x=@x.npy");
  EXPECT_GT(row(summed, "y")["own"]["largest"].get<double>(), 0);
  EXPECT_EQ(row(summed, "y")["own"]["largest"].get<double>(), row(summed, "out")["error"]["largest"].get<double>());
  // The graph that is written gives what was evaluated.
  success("@g.json --recipe-fp8 mxfp8 --quiet -o @eight.json");
  const Outcome run = run_softamp("run " + file("eight.json") + " --quiet --feed x=" + file("x.npy"));
  EXPECT_EQ(run.out, "out: float32 [1,1] [[32]]\n") << run.err;

  // Delayed scaling has its factors from the values at hand: 1.0625 x 448 / 1.0625 is 448, the others 421.6 become 416.
  const json delayed = row(rows("@g.json --recipe-fp8 fp8_delayed --evaluate --feed x=@x.npy"), "y");
  EXPECT_NEAR(delayed["own"]["largest"].get<double>(), (31 - 31 * 416 / 448.0 * 1.0625) / 32.0625, 1e-6);
  EXPECT_EQ(error("@g.json --recipe-fp8 fp8_delayed --quiet -o @d.json"),
            "--out: '@d.json': 'fp8/y/input/amax_history' is a variable of delayed scaling, whose value a graph's file "
            "does not "
            "hold; expected a recipe with scales of the tensors themselves, or --evaluate\n");

  const Outcome advice = success("@g.json --recipe-fp8 mxfp8 --advise --feed x=@x.npy");
  EXPECT_NE(advice.out.find("\nfp8=mxfp8               1 of 6        2       0.00195"), std::string::npos)
      << advice.out;
}

TEST_F(Evaluate, RecipesOfBlockFormatsAreOfSoftampsGraphs) {
  EXPECT_EQ(error(kExampleFolder + "chain.pbtxt --recipe-fp8 mxfp8 --quiet"),
            "--recipe-fp8: '" + kExampleFolder +
                "chain.pbtxt': a GraphDef has no operation that quantises operands; expected a softamp graph or a "
                "network\n");
  write_text(file("g.json"), linear_layers());
  EXPECT_EQ(error("@g.json --recipe-fp8 mxfp8 --level O2 --quiet"), "--recipe-fp8, --level: expected one mechanism\n");
  EXPECT_NE(error("@g.json --recipe-fp8 mxfp9 --quiet").find("there is no recipe 'mxfp9'; nearest: mxfp"),
            std::string::npos);
}

/// A device that multiplies halves alone, as MindSpore's log tells of it (MIXED_PRECISION M06).
// tests: M06
TEST_F(Evaluate, KernelsOfADeviceAreSaid) {
  write_text(file("g.json"), linear_layers());
  save("x.npy", {1, 32}, std::vector<double>(32, 1 + 0x1p-11));  // to even: 1
  const Outcome reduced = success("@g.json --level O0 --kernels float16 -o @half.json");
  EXPECT_NE(reduced.err.find("INFO MatMul 'y' Reduce precision, node datatype: "), std::string::npos) << reduced.err;
  EXPECT_NE(reduced.err.find("INFO MatMul 'head' Reduce precision"), std::string::npos) << reduced.err;
  EXPECT_EQ(success("@g.json --level O0 --kernels float16 --quiet -o @half.json").err, "");
  EXPECT_EQ(run_softamp("run " + file("half.json") + " --quiet --feed x=" + file("x.npy")).out,
            "out: float32 [1,1] [[32]]\n");
  EXPECT_DOUBLE_EQ(
      row(rows("@g.json --level O0 --kernels float16 --evaluate --feed x=@x.npy"), "y")["own"]["largest"].get<double>(),
      0x1p-11 / (1 + 0x1p-11));
  EXPECT_EQ(success("@g.json --level O0 --kernels float32 -o @same.json").err.find("precision, node"),
            std::string::npos);
  EXPECT_EQ(error("@g.json --recipe full --kernels float16 --quiet"), "--kernels: expected with --level\n");
  EXPECT_EQ(error("@g.json --level O0 --kernels float64 --quiet"),
            "--kernels: unknown dtype 'float64'; nearest: float16; known: float16, bfloat16, float32\n");
  EXPECT_EQ(error(kExampleFolder + "chain.pbtxt --level O0 --kernels float16 --quiet"),
            "--kernels: '" + kExampleFolder + "chain.pbtxt' is a GraphDef; expected a softamp graph\n");
}

TEST_F(Evaluate, ComplaintsNameValuePlaceAndWhatWasExpected) {
  write_text(file("g.json"), products());
  save("x.npy", {1, 1}, {1});
  GraphBuilder b;
  b.placeholder("i", DType::kInt32, {2});
  write_text(file("ints.json"), graph_json(b.build()));
  const std::pair<const char*, const char*> rows[] = {
      {"@g.json --recipe full --evaluate --advise", "--evaluate: expected without --advise\n"},
      {"@g.json --recipe full --top 3", "--top: expected with --evaluate\n"},
      {"@g.json --recipe full --evaluate --top 0", "--top: '0': expected a whole number in 1..18446744073709551615\n"},
      {"@g.json --recipe full --evaluate --report dot",
       "--report: --evaluate has its own; expected table, csv, latex or json\n"},
      {"@g.json --recipe full --quiet --evaluate --feed nowhere=@x.npy",
       "--feed: unknown placeholder or variable 'nowhere'; known: x\n"},
      {"@g.json --recipe full --variables @x.npy", "--variables: expected with --advise or --evaluate\n"},
      {"@ints.json --recipe full --quiet --evaluate",
       "--evaluate: no floating-point tensor is there before and after the rewrite\n"},
  };
  for (const auto& [arguments, words] : rows) EXPECT_EQ(error(arguments), words) << arguments;
  EXPECT_NE(error("@g.json --recipe full --quiet --evaluate @x.npy").find("@x.npy"), std::string::npos);
  // Weights of another network would leave drawn ones in their place.
  const Tensor other = Tensor::full(DType::kFloat32, {1}, 1);
  npz::write(file("w.npz"), std::vector<npz::Array>{{"dense/kernle", &other}});
  EXPECT_EQ(
      error(kExampleFolder + "small_cnn.pbtxt --tensorflow --quiet --evaluate --batch 1 --variables @w.npz"),
      "--variables: '@w.npz' has what the graph does not have: 'dense/kernle' (nearest: dense/kernel); expected the "
      "names of its variables\n");
}

TEST_F(Evaluate, OpenBatchesTakeASize) {
  std::string text = R"(node { name:"x" op:"Placeholder" attr{key:"dtype" value{type:DT_FLOAT}}
  attr{key:"shape" value{shape{dim{size:-1} dim{size:3}}}} }
node { name:"m" op:"Tanh" input:"x" attr{key:"T" value{type:DT_FLOAT}} }
node { name:"y" op:"MatMul" input:"m" input:"m" attr{key:"T" value{type:DT_FLOAT}} attr{key:"transpose_b" value{b:true}} }
node { name:"out" op:"Identity" input:"y" attr{key:"T" value{type:DT_FLOAT}} })";
  write_text(file("open.pbtxt"), text);
  write_text(file("closed.pbtxt"), text.replace(text.find("-1"), 2, "2"));
  EXPECT_NE(error("@open.pbtxt --tensorflow --evaluate").find("its shape is not known, [?,3]"), std::string::npos);
  EXPECT_EQ(row(rows("@open.pbtxt --tensorflow --evaluate --batch 5"), "y")["elements"], 25);
  success("@open.pbtxt --advise --batch 5");
  EXPECT_NE(error("{J} --tensorflow --evaluate --batch 5").find("--batch: a softamp graph has its shapes"),
            std::string::npos);
  EXPECT_NE(error("@closed.pbtxt --tensorflow --evaluate --batch 5").find("--batch: no placeholder leaves axis 0 open"),
            std::string::npos);
  EXPECT_NE(error("@open.pbtxt --tensorflow --batch 5").find("--batch: expected with --advise or --evaluate"),
            std::string::npos);
}

TEST_F(Evaluate, NetworksNodeByNode) {
  const std::string network = SOFTAMP_SOURCE_DIR "/examples/networks/images.json";
  const json of_network = rows(network + " --policy mixed_float16 --evaluate --batch 3");
  EXPECT_GT(of_network.size(), 5u);
  EXPECT_GT(of_network[0]["own"]["largest"], 0);
  success(network + " --advise --batch 3");
  EXPECT_NE(error(network + " --tensorflow").find("is a network; expected a graph, or --evaluate or --advise with it"),
            std::string::npos);
}

TEST_F(Evaluate, TensorsInsideAGraphAreFed) {
  const Graph graph = load_graph(kTwoDenseJson).graph;
  const Shape shape = graph.type(graph.port("dense/Relu")).shape;
  save("fed.npy", shape, std::vector<double>(static_cast<size_t>(shape.elements()), 0.1));
  const json without = rows("{J} --tensorflow --evaluate"),
             fed = rows("{J} --tensorflow --evaluate --feed dense/Relu=@fed.npy");
  EXPECT_GT(row(fed, "dense/Relu")["error"]["largest"], 0);  // 0.1 in half
  EXPECT_NE(row(fed, "dense_1/MatMul")["error"], row(without, "dense_1/MatMul")["error"]);
  save("wrong.npy", {1}, {0.1});
  EXPECT_NE(
      error("{J} --tensorflow --evaluate --feed dense/Relu=@wrong.npy").find("--feed: 'dense/Relu' is float32[1]"),
      std::string::npos);
}

}  // namespace
}  // namespace softamp::test
