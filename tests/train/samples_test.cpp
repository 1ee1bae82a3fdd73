// What a run reads besides images: arrays and texts, their windows and parts, what is refused, and what their
// evaluation says, against plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "softamp/data/npz.h"
#include "softamp/train/network_file.h"
#include "src/train/evaluation.h"
#include "src/train/run/samples.h"
#include "src/train/run/verdict.h"
#include "tests/files.h"
#include "tests/refusal.h"
#include "tests/train/quiet_run.h"

namespace softamp::test {
namespace {

using train_detail::Samples;
using train_detail::SampleSets;

NetworkInfo sampled_network(const std::string& input, const std::string& output, const std::string& layers = "[]") {
  return parse_network(R"({"softamp_network": 1, "input": )" + input + R"(, "output": )" + output + R"(, "layers": )" +
                       layers + "}");
}
NetworkInfo table(const std::string& output) {
  return sampled_network(R"({"kind": "features", "shape": [2]})", output);
}
const std::string kThreeClasses = R"({"kind": "classes", "count": 3})";

Tensor numbers(DType dtype, const Shape& shape, const std::vector<double>& values) {
  return Tensor::from_values(dtype, shape, values);
}

std::string file_of(const TemporaryFolder& folder, const std::vector<std::pair<std::string, Tensor>>& arrays) {
  std::vector<npz::Array> all;
  for (const auto& [name, tensor] : arrays) all.push_back({name, &tensor});
  const std::string file = folder.file("data.npz");
  npz::write(file, all);
  return file;
}
template <class... Arrays>
std::string npz_of(const TemporaryFolder& folder, Arrays... arrays) {
  std::vector<std::pair<std::string, Tensor>> all;
  (all.push_back(std::move(arrays)), ...);
  return file_of(folder, all);
}
std::pair<std::string, Tensor> array(const char* name, DType dtype, const Shape& shape,
                                     const std::vector<double>& values) {
  return {name, numbers(dtype, shape, values)};
}

std::vector<double> inputs_of(const Samples& set, std::vector<int64_t> indices, DType compute = DType::kFloat32) {
  return set.batch(indices, compute).images.values();
}
std::vector<double> labels_of(const Samples& set, std::vector<int64_t> indices) {
  return set.batch(indices, DType::kFloat32).labels.values();
}
using V = std::vector<double>;

TEST(SampleArrays, OfOneSetTheLastPartIsForTesting) {
  const TemporaryFolder folder;
  const std::string file = npz_of(folder, array("x", DType::kFloat64, {5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 0.1}),
                                  array("y", DType::kInt64, {5}, {0, 1, 2, 0, 1}));
  const SampleSets sets = train_detail::samples_of_arrays(file, table(kThreeClasses), 0.4);
  ASSERT_EQ(sets.train->count(), 3);
  ASSERT_EQ(sets.test->count(), 2);
  EXPECT_EQ(inputs_of(*sets.train, {2, 0}), (V{4, 5, 0, 1}));
  EXPECT_EQ(labels_of(*sets.train, {2, 0}), (V{2, 0}));
  const double tenth = static_cast<double>(0.1F);
  EXPECT_EQ(inputs_of(*sets.test, {1, 0}), (V{8, tenth, 6, 7}));
  EXPECT_EQ(labels_of(*sets.test, {1, 0}), (V{1, 0}));
  EXPECT_EQ(inputs_of(*sets.test, {1}, DType::kFloat16)[1], numbers(DType::kFloat16, {1}, {0.1}).value(0));
  EXPECT_EQ(sets.test->batch(std::vector<int64_t>{0}, DType::kBFloat16).images.dtype(), DType::kBFloat16);
  // What is wrong in either part is told by its place in the file.
  const auto refused = [&](const std::vector<double>& y, int64_t columns) {
    const std::string bad =
        npz_of(folder, array("x", DType::kFloat32, {5, columns}, V(5 * static_cast<size_t>(columns))),
               array("y", DType::kInt64, {5}, y));
    return refusal<DataError>([&] { (void)train_detail::samples_of_arrays(bad, table(kThreeClasses), 0.4); })
        .substr(folder.file("").size());
  };
  EXPECT_EQ(refused({0, 1, 2, 0, 3}, 2), "data.npz: y: element [4] is 3; expected a class in 0 .. 2");
  EXPECT_EQ(refused({0, 1, 2, 0, 1}, 3), "data.npz: x: an array of float32[5,3]; expected [5,2]");
}

TEST(SampleArrays, FourArraysAreTwoSetsAlsoInAFolder) {
  const TemporaryFolder folder;
  const auto save = [&](const char* name, const Tensor& t) { save_npy(t, folder.file(std::string(name) + ".npy")); };
  save("x_train", numbers(DType::kFloat32, {2, 2}, {1, 2, 3, 4}));
  save("y_train", numbers(DType::kFloat32, {2, 1}, {5, 6}));
  save("x_test", numbers(DType::kFloat16, {1, 2}, {7, 8}));
  save("y_test", numbers(DType::kFloat64, {1}, {9}));
  const std::string place = folder.path().string();
  ASSERT_TRUE(train_detail::holds_sample_arrays(place));
  const SampleSets sets = train_detail::samples_of_arrays(place, table(R"({"kind": "values", "shape": [1]})"), 0.1);
  EXPECT_EQ(inputs_of(*sets.train, {1, 0}), (V{3, 4, 1, 2}));
  EXPECT_EQ(labels_of(*sets.train, {1, 0}), (V{6, 5}));
  EXPECT_EQ(sets.train->batch(std::vector<int64_t>{0}, DType::kFloat32).labels.shape(), (Shape{1, 1}));
  EXPECT_EQ(inputs_of(*sets.test, {0}), (V{7, 8}));
  EXPECT_EQ(labels_of(*sets.test, {0}), (V{9}));
}

TEST(SampleArrays, PixelsAreFedAsImagesAre) {
  const TemporaryFolder folder;
  const std::string file =
      npz_of(folder, array("x", DType::kUint8, {2, 1, 2}, {0, 51, 255, 102}), array("y", DType::kUint8, {2}, {1, 2}));
  const SampleSets sets = train_detail::samples_of_arrays(
      file, sampled_network(R"({"kind": "image", "shape": [1, 2, 1]})", kThreeClasses), 0.5);
  EXPECT_EQ(inputs_of(*sets.train, {0}), (V{0, static_cast<double>(0.2F)}));
  EXPECT_EQ(labels_of(*sets.test, {0}), V{2});
  EXPECT_EQ(sets.test->batch(std::vector<int64_t>{0}, DType::kFloat32).images.shape(), (Shape{1, 1, 2, 1}));
}

TEST(SampleArrays, AreRefusedByArrayAndElement) {
  const TemporaryFolder folder;
  const auto refused = [&](const NetworkInfo& network, auto... arrays) {
    const std::string file = npz_of(folder, std::move(arrays)...);
    return folder.without(refusal<DataError>([&] { (void)train_detail::samples_of_arrays(file, network, 0.5); }), "@");
  };
  const NetworkInfo classes = table(kThreeClasses), values = table(R"({"kind": "values", "shape": [1]})"),
                    truths = table(R"({"kind": "binary", "shape": [1]})");
  const auto x = [](const std::vector<double>& v = {1, 2, 3, 4}) { return array("x", DType::kFloat32, {2, 2}, v); };
  const auto y = [](const std::vector<double>& v = {0, 1}) { return array("y", DType::kInt32, {2}, v); };
  EXPECT_EQ(refused(classes, x()),
            "@data.npz: the arrays 'x'; expected x_train, y_train, x_test, y_test, or train_images, train_labels, "
            "test_images, test_labels, or x, y");
  EXPECT_EQ(refused(classes, x(), y({0, 3})), "@data.npz: y: element [1] is 3; expected a class in 0 .. 2");
  EXPECT_EQ(refused(classes, x(), y({-1, 1})), "@data.npz: y: element [0] is -1; expected a class in 0 .. 2");
  EXPECT_EQ(refused(classes, x(), array("y", DType::kFloat32, {2}, {0, 1})),
            "@data.npz: y: an array of float32; expected whole numbers (int32, int64, uint8)");
  EXPECT_EQ(refused(classes, x(), array("y", DType::kInt32, {3}, {0, 1, 2})),
            "@data.npz: y: an array of int32[3] beside inputs float32[2,2]; expected a label for each input");
  EXPECT_EQ(refused(classes, array("x", DType::kFloat32, {2, 3}, {1, 2, 3, 4, 5, 6}), y()),
            "@data.npz: x: an array of float32[2,3]; expected [2,2]");
  EXPECT_EQ(refused(values, x({1, 2, 3, NAN}), array("y", DType::kFloat32, {2}, {0, 1})),
            "@data.npz: x: element [1, 1] is nan; expected a finite number that float32 reaches");
  EXPECT_EQ(refused(values, x(), array("y", DType::kFloat64, {2}, {1e39, 1})),
            "@data.npz: y: element [0] is 1e+39; expected a finite number that float32 reaches");
  EXPECT_EQ(refused(truths, x(), array("y", DType::kFloat32, {2}, {0.5, 1})),
            "@data.npz: y: element [0] is 0.5; expected 0 or 1");
  EXPECT_EQ(refused(truths, x(), array("y", DType::kFloat32, {2, 1}, {0, 1})), "");
  // What Python hands over has no file.
  const auto given = [&](const Shape& inputs, const Shape& labels) {
    train_detail::SampleArrays arrays;
    arrays.inputs_name = "x";
    arrays.labels_name = "y";
    arrays.inputs = Tensor(DType::kFloat32, inputs);
    arrays.labels = Tensor(DType::kInt32, labels);
    return refusal<DataError>([&] { (void)train_detail::samples_of(std::move(arrays), classes); });
  };
  EXPECT_EQ(given({}, {2}), "x: one number; expected one for each sample");
  EXPECT_EQ(given({2, 2}, {}), "y: one number; expected one for each sample");
  EXPECT_EQ(given({0, 2}, {0}), "x: no samples; expected at least one");
  EXPECT_EQ(given({2, 2}, {2}), "");
  EXPECT_EQ(refused(classes, array("x", DType::kFloat32, {1, 2}, {1, 2}), array("y", DType::kInt32, {1}, {0})),
            "@data.npz: 1 sample, and 'validation_split' 0.5 of them to test with; expected at least one in each part");
  EXPECT_EQ(refused(sampled_network(R"({"kind": "tokens", "length": 2, "vocabulary": 4})", kThreeClasses),
                    array("x", DType::kInt32, {2, 2}, {0, 1, 2, 4}), y()),
            "@data.npz: x: element [1, 1] is 4; expected a token of the network's vocabulary in 0 .. 3");
}

TEST(SampleArrays, APlaceWithoutThemSaysWhatItHolds) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& place) {
    return folder.without(
        refusal<DataError>([&] { (void)train_detail::samples_of_arrays(place, table(kThreeClasses), 0.5); }), "@");
  };
  const std::string expected =
      "; expected x_train, y_train, x_test, y_test, or train_images, train_labels, test_images, test_labels, or x, y";
  EXPECT_EQ(refused(folder.file(".")), "@.: no arrays" + expected);
  save_npy(numbers(DType::kFloat32, {2, 2}, {1, 2, 3, 4}), folder.file("x.npy"));
  write_text(folder.file("a.txt"), "no array");
  EXPECT_EQ(refused(folder.file(".")), "@.: the arrays 'x'" + expected);
  EXPECT_EQ(refused(folder.file("a.txt")), "@a.txt: Not a directory; expected a .npz file, or a folder of .npy files");
  EXPECT_EQ(refused(folder.file("none")),
            "@none: No such file or directory; expected a .npz file, or a folder of .npy files");
}

TEST(SampleArrays, HaveTheIdentityOfTheirContents) {
  const TemporaryFolder folder;
  const auto hash = [&](double last, double label) {
    const std::string file = npz_of(folder, array("x", DType::kFloat32, {2, 2}, {1, 2, 3, last}),
                                    array("y", DType::kInt32, {2}, {0, label}));
    const SampleSets sets = train_detail::samples_of_arrays(file, table(kThreeClasses), 0.5);
    return sets.train->hash() + sets.test->hash();
  };
  EXPECT_EQ(hash(4, 1), hash(4, 1));
  EXPECT_NE(hash(4, 1), hash(5, 1));
  EXPECT_NE(hash(4, 1), hash(4, 2));
}

// ---- Texts ----------------------------------------------------------------------------------------------------------

NetworkInfo text_network(int64_t length, int64_t vocabulary, const char* encoding = "characters") {
  return sampled_network(R"({"kind": "tokens", "length": )" + std::to_string(length) + R"(, "vocabulary": )" +
                             std::to_string(vocabulary) + R"(, "encoding": ")" + encoding + "\"}",
                         R"({"kind": "next_token"})");
}

TEST(TextSamples, CharactersAreNumberedByTheirCodePoints) {
  const TemporaryFolder folder;
  const std::string file = folder.file("text.txt");
  write_text(file, "b\xC3\xA4 a\xE2\x82\xAC\xF0\x9F\x98\x80");  // "bä a€😀"
  const auto text = train_detail::read_text(file, text_network(1, 6).input);
  EXPECT_EQ(text.characters, (std::vector<uint32_t>{' ', 'a', 'b', 0xE4, 0x20AC, 0x1F600}));
  EXPECT_EQ(text.tokens, (std::vector<int32_t>{2, 3, 0, 1, 4, 5}));
  EXPECT_EQ(text.text_of(text.tokens), read_text(file));
  EXPECT_EQ(text.tokens_of("a b"), (std::vector<int32_t>{1, 0, 2}));
  EXPECT_EQ(refusal<std::invalid_argument>([&] { (void)text.tokens_of("ac"); }),
            "the text to begin with has 'c', which the training text does not have");
  const auto bytes = train_detail::read_text(file, text_network(1, 256, "bytes").input);
  EXPECT_EQ(bytes.tokens.size(), read_text(file).size());
  EXPECT_EQ(bytes.tokens[1], 0xC3);
  EXPECT_EQ(bytes.text_of(bytes.tokens), read_text(file));
}

TEST(TextSamples, WindowsFollowEachOtherAndLabelsAreOneFurther) {
  std::vector<int32_t> tokens(25);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i);
  const SampleSets sets = train_detail::samples_of_tokens(tokens, "t", text_network(4, 25), 0.4);
  ASSERT_EQ(sets.train->count(), 3) << "15 tokens: three windows, and labels";
  ASSERT_EQ(sets.test->count(), 2) << "10 tokens";
  EXPECT_EQ(inputs_of(*sets.train, {2, 0}), (V{8, 9, 10, 11, 0, 1, 2, 3}));
  EXPECT_EQ(labels_of(*sets.train, {2, 0}), (V{9, 10, 11, 12, 1, 2, 3, 4}));
  EXPECT_EQ(inputs_of(*sets.test, {1}), (V{19, 20, 21, 22}));
  EXPECT_EQ(labels_of(*sets.test, {1}), (V{20, 21, 22, 23}));
}

TEST(TextSamples, AreRefusedByPlace) {
  const TemporaryFolder folder;
  const std::string file = folder.file("t");
  const auto refused = [&](const std::string& text, const NetworkInfo& network) {
    write_text(file, text);
    return folder.without(refusal<DataError>([&] {
                            (void)train_detail::samples_of_tokens(train_detail::read_text(file, network.input).tokens,
                                                                  file, network, 0.5);
                          }),
                          "@");
  };
  EXPECT_EQ(refused("ab\nc\xFFx", text_network(1, 9)),
            "@t: byte 4 (line 2, value 255): no UTF-8; expected a UTF-8 text, or a network whose tokens are 'bytes'");
  EXPECT_EQ(refused("abcd", text_network(1, 3)),
            "@t: 4 different characters; expected at most the network's vocabulary, 3");
  EXPECT_EQ(
      refused("abcd", text_network(2, 4)),
      "@t: 4 tokens, the last 2 of them to test with; expected at least 3 in each part, as the network's input is "
      "2 long");
  EXPECT_EQ(
      refused("", text_network(2, 4)),
      "@t: 0 tokens, the last 0 of them to test with; expected at least 3 in each part, as the network's input is "
      "2 long");
  EXPECT_EQ(refused("a", text_network(2, 255, "bytes")),
            "@t: bytes have 256 values; expected a network whose vocabulary is 256, and not 255");
}

// ---- Judging --------------------------------------------------------------------------------------------------------

TEST(LossOfValue, IsItsFormula) {
  const auto near = [](double a, double b) { return std::fabs(a - b) <= std::ldexp(1 + std::fabs(b), -20); };
  for (double output = -6; output <= 6; output += 0.37)
    for (double label = -2; label <= 2; label += 0.5) {
      const double e = output - label;
      EXPECT_EQ(train_detail::loss_of_value("mean_squared_error", output, label), e * e);
      EXPECT_EQ(train_detail::loss_of_value("mean_absolute_error", output, label), std::fabs(e));
      EXPECT_EQ(train_detail::loss_of_value("huber", output, label),
                std::fabs(e) <= 1 ? e * e / 2 : std::fabs(e) - 0.5);
      EXPECT_TRUE(near(train_detail::loss_of_value("log_cosh", output, label), std::log(std::cosh(e)))) << e;
      const double p = 1 / (1 + std::exp(-output)), truth = label > 0 ? 1 : 0;
      EXPECT_TRUE(near(train_detail::loss_of_value("binary_crossentropy_from_logits", output, truth),
                       -(truth * std::log(p) + (1 - truth) * std::log(1 - p))))
          << output;
    }
}

TEST(LossOfGuessing, IsTheEntropyOrTheSpread) {
  const TemporaryFolder folder;
  const NetworkInfo values = table(R"({"kind": "values", "shape": [1]})");
  const SampleSets sets =
      train_detail::samples_of_arrays(npz_of(folder, array("x", DType::kFloat32, {6, 2}, V(12, 1.0)),
                                             array("y", DType::kFloat32, {6}, {0, 0, 0, 1, 3, 5})),
                                      values, 0.5);
  EXPECT_EQ(sets.test->loss_of_guessing(values.output), (4.0 + 0 + 4) / 3);
  const NetworkInfo text = text_network(1, 4);
  const SampleSets tokens = train_detail::samples_of_tokens({0, 0, 0, 1, 1, 1, 1, 2}, "t", text, 0.5);
  const double entropy = -(0.75 * std::log(0.75) + 0.25 * std::log(0.25));
  EXPECT_NEAR(tokens.test->loss_of_guessing(text.output), entropy, 1e-6);
}

/// A run of a network file on a .npz or a text.
RunSummary run_of(const std::string& network, const std::string& data, int64_t epochs, const std::string& more = {}) {
  TrainSettings s;
  s.network = network;
  s.data = data;
  s.epochs = epochs;
  s.batch_size = 8;
  if (!more.empty()) s.precision = more;
  RunOutput quiet;
  quiet.quiet = true;
  return run_training(s, quiet);
}

TEST(RunsOfNetworkFiles, LearnALineAndSayHowWell) {
  const TemporaryFolder folder;
  std::vector<double> x, y;
  for (int i = 0; i < 200; ++i) {
    x.push_back(std::sin(i * 1.7));
    x.push_back(std::cos(i * 2.3));
    y.push_back(0.5 * x[x.size() - 2] - x.back() + 0.25);
  }
  const std::string data =
      npz_of(folder, array("x", DType::kFloat32, {200, 2}, x), array("y", DType::kFloat32, {200}, y));
  write_text(folder.file("net.json"), R"({"softamp_network": 1, "input": {"kind": "features", "shape": [2]},
    "output": {"kind": "values", "shape": [1]}, "layers": [{"type": "dense", "units": 1}]})");
  for (const char* precision : {"float32", "mixed", "float16"}) {
    const RunSummary run = run_of(folder.file("net.json"), data, 20, precision);
    const Evaluation& e = run.evaluations.back();
    EXPECT_EQ(e.images, 20);
    EXPECT_EQ(e.predictions, 20);
    EXPECT_EQ(e.loss, e.mean_square) << "mean squared error";
    EXPECT_LT(e.rmse(), 0.02) << precision;
    EXPECT_EQ(run.verdict->outcome, TrainingOutcome::kTrains) << run.verdict->text;
    EXPECT_TRUE(e.text().starts_with("RMSE ")) << e.text();
    EXPECT_TRUE(e.text().ends_with(" on 20 test samples")) << e.text();
  }
}

TEST(RunsOfNetworkFiles, ATextThatRepeatsIsLearned) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 200; ++i) text += "abcde";
  write_text(folder.file("t.txt"), text);
  write_text(folder.file("net.json"),
             R"net({"softamp_network": 1, "input": {"kind": "tokens", "length": 5, "vocabulary": 8},
    "output": {"kind": "next_token"}, "layers": [{"type": "embedding", "vocabulary": 8, "units": 8,
    "initializer": "normal(0, 0.5)"}, {"type": "dense", "units": 8}]})net");
  const RunSummary run = run_of(folder.file("net.json"), folder.file("t.txt"), 10, "mixed");
  const Evaluation& e = run.evaluations.back();
  EXPECT_EQ(e.images, 19);
  EXPECT_EQ(e.predictions, 95);
  EXPECT_EQ(e.accuracy(), 1);
  EXPECT_NEAR(e.perplexity(), std::exp(e.loss), 1e-5);
  EXPECT_NEAR(e.guessing, std::log(5), 1e-3);
  EXPECT_EQ(run.verdict->outcome, TrainingOutcome::kTrains);
  EXPECT_TRUE(contains(e.text(), "accuracy 100.00 %, perplexity ")) << e.text();
  EXPECT_TRUE(e.text().ends_with(" on 19 test windows of 5 tokens")) << e.text();
}

TEST(RunsOfNetworkFiles, GoOnWithTheSameFileUnderAnotherName) {
  const TemporaryFolder folder;
  const std::string data =
      npz_of(folder, array("x", DType::kFloat32, {40, 2}, V(80, 0.5)), array("y", DType::kInt32, {40}, V(40, 1.0)));
  const auto file = [&](const char* name, int units) {
    write_text(folder.file(name), R"({"softamp_network": 1, "input": {"kind": "features", "shape": [2]},
      "output": {"kind": "classes", "count": 2}, "layers": [{"type": "dense", "units": )" +
                                      std::to_string(units) + R"(}, {"type": "dense", "units": 2}]})");
    return folder.file(name);
  };
  TrainSettings s;
  s.data = data;
  s.batch_size = 8;
  s.steps = 4;
  s.network = file("one.json", 3);
  RunOutput output;
  output.log = folder.file("whole.log");
  (void)quiet_run(s, output);
  output.log = folder.file("parts.log");
  output.checkpoint = folder.file("state.npz");
  (void)stopped_run(s, output, 2);
  output.resume = output.checkpoint;
  s.network = file("other.json", 4);
  EXPECT_EQ(
      folder.without(refusal<std::runtime_error>([&] { (void)quiet_run(s, output); }), "@"),
      "@state.npz: the checkpoint is of a run with another network than @other.json is now; expected the same file");
  s.network = file("renamed.json", 3);
  EXPECT_EQ(quiet_run(s, output).steps, 4);
  const auto after_settings = [](const std::string& text) { return text.substr(text.find('\n')); };
  EXPECT_EQ(after_settings(read_text(folder.file("parts.log"))), after_settings(read_text(folder.file("whole.log"))));
}

TEST(Verdict, OfALossIsByItsStandardError) {
  Evaluation e;
  e.kind = NetworkOutput::Kind::kValues;
  e.images = 100;
  e.loss = 1;
  e.guessing = 2;
  const auto outcome = [&] { return train_detail::verdict_of({.evaluation = e}).outcome; };
  e.loss_error = 0.3235;
  EXPECT_EQ(outcome(), TrainingOutcome::kTrains);
  e.loss_error = 0.3237;  // 3.0902 of them are more than 1
  EXPECT_EQ(outcome(), TrainingOutcome::kAtChance);
  e.images = 1;
  EXPECT_EQ(outcome(), TrainingOutcome::kUnclear);
  EXPECT_EQ(train_detail::verdict_of({}).outcome, TrainingOutcome::kUnclear);
}

}  // namespace
}  // namespace softamp::test
