// IpuConfig: the attribute tree, its errors to the letter, its JSON; and the options of products.
#include "softamp/graph/ipu_config.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/comma_locale.h"
#include "tests/graph/executor_check.h"

namespace softamp {
namespace {

using test::refusal;
using Esr = StochasticRoundingBehaviour;

template <class Error = ConfigTypeError>
std::string set_refusal(const char* name, const ConfigValue& value) {
  IpuConfig config;
  const std::string before = config.to_json();
  const std::string text = refusal<Error>([&] { config.set(name, value); });
  EXPECT_EQ(config.to_json(), before) << "a refused value has left a trace: " << name;
  return text;
}
std::string json_refusal(const char* text) {
  return refusal<std::invalid_argument>([&] { IpuConfig::from_json(text); });
}

// tests: N58
TEST(IpuConfig, DefaultsAreAllOffAsInTensorFlow) {
  const IpuConfig c;
  EXPECT_EQ(c.behaviour(), FloatingPointBehaviour::all_off());
  EXPECT_EQ(c.floating_point_behaviour.esr, Esr::kOff);
  EXPECT_FALSE(c.norms.use_stable_statistics);
  EXPECT_EQ(c.norms.experimental.distributed_batch_norm_replica_group_size, 1);
  EXPECT_TRUE(c.matmuls.poplar_options.empty());
  EXPECT_TRUE(c.ipu_model.compile_ipu_code);
  EXPECT_EQ(c.ipu_model.tiles_per_ipu, 0);
  EXPECT_EQ(c.ipu_model.version, "ipu2");
  EXPECT_EQ(IpuConfig::names().size(), 23u);
}

TEST(IpuConfig, AWrongTypeIsNamed) {
  EXPECT_EQ(set_refusal("norms.use_stable_statistics", int64_t{3}),
            "Trying to set norms.use_stable_statistics to 3, but it must be of type bool");
  EXPECT_EQ(set_refusal("floating_point_behaviour.inv", std::string("yes")),
            "Trying to set floating_point_behaviour.inv to 'yes', but it must be of type bool");
  EXPECT_EQ(set_refusal("auto_select_ipus", true),
            "Trying to set auto_select_ipus to True, but it must be of type int");
  EXPECT_EQ(set_refusal("ipu_model.version", false),
            "Trying to set ipu_model.version to False, but it must be of type str");
  EXPECT_EQ(set_refusal("matmuls.poplar_options", std::string("half")),
            "Trying to set matmuls.poplar_options to 'half', but it must be of type dict");
  EXPECT_EQ(set_refusal("norms.use_stable_statistics", PoplarOptions{{"a", "b"}}),
            "Trying to set norms.use_stable_statistics to {\"a\":\"b\"}, but it must be of type bool");
  EXPECT_EQ(set_refusal("floating_point_behaviour.nanoo", Esr::kOn),
            "Trying to set floating_point_behaviour.nanoo to StochasticRoundingBehaviour.ON, but it must be of type "
            "bool");
  EXPECT_EQ(set_refusal("floating_point_behaviour.esr", int64_t{1}),
            "Trying to set floating_point_behaviour.esr to 1, but it must be of type StochasticRoundingBehaviour");
  EXPECT_EQ(set_refusal("floating_point_behaviour.esr", std::string("MAYBE")),
            "Trying to set floating_point_behaviour.esr to 'MAYBE', but it must be of type "
            "StochasticRoundingBehaviour");
}

TEST(IpuConfig, ACategoryIsNotAssignedTo) {
  for (const char* name : {"floating_point_behaviour", "matmuls", "norms", "norms.experimental", "experimental",
                           "experimental.multi_replica_distribution", "ipu_model", "pooling"})
    EXPECT_EQ(set_refusal<ConfigNameError>(name, true),
              std::string(name) + " is a category and cannot be assigned to.");
}

// tests: X8
TEST(IpuConfig, AnUnknownNameBringsTheNearestOfItsLevel) {
  // The tutorial's own slip: TUTORIAL X8.
  EXPECT_EQ(set_refusal<ConfigNameError>("matmul.poplar_options", PoplarOptions{{"partialsType", "half"}}),
            "'matmul' is not a valid attribute of this config. Did you mean 'matmuls'?");
  EXPECT_EQ(set_refusal<ConfigNameError>("norms.use_stable_statistic", true),
            "'use_stable_statistic' is not a valid attribute of this config. Did you mean 'use_stable_statistics'?");
  EXPECT_EQ(set_refusal<ConfigNameError>("floating_point_behavior.inv", true),
            "'floating_point_behavior' is not a valid attribute of this config. Did you mean "
            "'floating_point_behaviour'?");
  EXPECT_EQ(set_refusal<ConfigNameError>("norms.experimental.group_size", int64_t{1}),
            "'group_size' is not a valid attribute of this config. Did you mean "
            "'distributed_batch_norm_replica_group_size'?");
  EXPECT_EQ(refusal<ConfigNameError>([] { IpuConfig().get("ipu_model.tiles"); }),
            "'tiles' is not a valid attribute of this config. Did you mean 'version'?")
      << "(distances: version 6, tiles_per_ipu 8)";
  // A name that looks like the message it ends up in, and one below a value.
  EXPECT_EQ(set_refusal<ConfigNameError>("; nearest: x; known", true).substr(0, 60),
            "'; nearest: x; known' is not a valid attribute of this confi");
  EXPECT_EQ(set_refusal<ConfigNameError>("norms.use_stable_statistics.on", true),
            "'on' is not a valid attribute of this config. Did you mean 'norms.use_stable_statistics'?");
  for (const char* name : {"", ".", "norms.", ".norms", "norms..x", "INV"})
    EXPECT_NE(set_refusal<ConfigNameError>(name, true).find("is not a valid attribute of this config. Did you mean '"),
              std::string::npos)
        << name;
}

TEST(IpuConfig, ValuesOutOfRange) {
  EXPECT_EQ(
      set_refusal<std::invalid_argument>("norms.experimental.distributed_batch_norm_replica_group_size", int64_t{0}),
      "norms.experimental.distributed_batch_norm_replica_group_size must be at least 1.");
  EXPECT_NE(
      set_refusal<std::invalid_argument>("auto_select_ipus", int64_t{2}).find("auto_select_ipus is 2; expected 1"),
      std::string::npos);
  EXPECT_NE(set_refusal<std::invalid_argument>("ipu_model.tiles_per_ipu", int64_t{-1}).find("expected 0..1048576"),
            std::string::npos);
}

TEST(IpuConfig, WhatIsNotEmulatedIsRefused) {
  using Invalid = std::invalid_argument;
  EXPECT_EQ(set_refusal<Invalid>("ipu_model.version", std::string("foo")),
            "ipu_model.version is 'foo'; expected 'ipu2' or 'ipu21': no other version is emulated");
  EXPECT_EQ(set_refusal<Invalid>("norms.experimental.distributed_batch_norm_replica_group_size", int64_t{2}),
            "norms.experimental.distributed_batch_norm_replica_group_size is 2; expected 1: replicas that share batch "
            "statistics are not emulated");
  EXPECT_EQ(set_refusal<Invalid>("experimental.multi_replica_distribution.process_count", int64_t{4}),
            "experimental.multi_replica_distribution.process_count is 4; expected 0 or 1: processes share replicas by "
            "`mpirun softamp train`");
  EXPECT_EQ(set_refusal<Invalid>("experimental.multi_replica_distribution.process_index", int64_t{1}),
            "experimental.multi_replica_distribution.process_index is 1; expected 0, of one process");
}

TEST(IpuConfig, WhatDoesNothingIsSaidOnce) {
  IpuConfig c;
  EXPECT_TRUE(c.without_effect().empty());
  const std::pair<const char*, ConfigValue> idle[] = {
      {"compilation_poplar_options", PoplarOptions{{"opt.level", "1"}}},
      {"matmuls.clear_pass_type", true},
      {"slices.poplar_options", PoplarOptions{{"availableMemoryProportion", "0.3"}}},
      {"pooling.poplar_options", PoplarOptions{{"poolUseIntrospectiveMapping", "false"}}},
      {"experimental.always_rearrange_copies_on_the_host", true},
      {"experimental.enable_remote_buffer_embedding", true},
      {"ipu_model.compile_ipu_code", false}};
  for (const auto& [name, value] : idle) c.set(name, value);
  const std::vector<std::string> lines = c.without_effect();
  ASSERT_EQ(lines.size(), std::size(idle));
  for (size_t i = 0; i < lines.size(); ++i)
    EXPECT_EQ(lines[i].find(std::string(idle[i].first) + " is "), 0u) << lines[i];
  EXPECT_EQ(
      lines[1],
      "matmuls.clear_pass_type is True, which has no effect here: it changes how a device plans the work, not its "
      "results");
  GraphBuilder b;
  b.constant(Tensor::full(DType::kFloat32, {}, 1), "one");
  ExecutorOptions options;
  options.config = c;
  EXPECT_EQ(make_executor(b.build(), options)->warnings(), lines);
}

// tests: G12
TEST(IpuConfig, EsrTakesABoolANameOrTheEnum) {
  // TUTORIAL G12
  IpuConfig c;
  const char* const esr = "floating_point_behaviour.esr";
  c.set(esr, true);
  EXPECT_EQ(std::get<Esr>(c.get(esr)), Esr::kOn);
  EXPECT_TRUE(c.behaviour().esr);
  c.set(esr, false);
  EXPECT_EQ(c.floating_point_behaviour.esr, Esr::kOff);
  c.set(esr, std::string("REPLICA_IDENTICAL_ONLY"));
  EXPECT_EQ(c.floating_point_behaviour.esr, Esr::kReplicaIdenticalOnly);
  EXPECT_TRUE(c.behaviour().esr) << "on one replica all is identical";
  c.set(esr, Esr::kOff);
  EXPECT_FALSE(c.behaviour().esr);
  // Enum numbers are the field's.
  EXPECT_EQ(static_cast<int>(Esr::kOff), 0);
  EXPECT_EQ(static_cast<int>(Esr::kOn), 1);
  EXPECT_EQ(static_cast<int>(Esr::kReplicaIdenticalOnly), 2);
}

// tests: G35
TEST(IpuConfig, FlagsAreIndependentUnlessAllAreSet) {
  // TUTORIAL G35
  for (int flag = 0; flag < 5; ++flag) {
    IpuConfig c;
    static const char* const kFlags[] = {"inv", "div0", "oflo", "esr", "nanoo"};
    c.set(std::string("floating_point_behaviour.") + kFlags[flag], true);
    EXPECT_EQ(c.behaviour(), (FloatingPointBehaviour{flag == 0, flag == 1, flag == 2, flag == 3, flag == 4}));
  }
  IpuConfig c;
  c.set("floating_point_behaviour.set_all", true);
  EXPECT_EQ(c.behaviour(), FloatingPointBehaviour{});
  EXPECT_FALSE(c.floating_point_behaviour.inv) << "set_all forces at configure time, the single values stay";
  c.set("floating_point_behaviour.inv", false);
  EXPECT_TRUE(c.behaviour().inv);
}

TEST(IpuConfig, EveryNameIsGotSetAndDescribed) {
  const auto other = [](const ConfigValue& v) -> ConfigValue {
    if (const bool* b = std::get_if<bool>(&v)) return !*b;
    if (const int64_t* i = std::get_if<int64_t>(&v)) return *i + 1;
    if (std::holds_alternative<std::string>(v)) return std::string("ipu21");
    if (std::holds_alternative<Esr>(v)) return Esr::kReplicaIdenticalOnly;
    return PoplarOptions{{"availableMemoryProportion", "0.3"}};
  };
  IpuConfig c;
  for (const std::string& name : IpuConfig::names()) {
    const IpuConfig::Metadata m = IpuConfig::metadata(name);
    EXPECT_EQ(m.name, name);
    EXPECT_FALSE(m.doc.empty());
    EXPECT_EQ(m.default_value, IpuConfig().get(name)) << name;
    if (name == "auto_select_ipus" || name.ends_with("_group_size") || name.ends_with("process_index"))
      continue;  // takes one value alone
    const ConfigValue value = other(m.default_value);
    c.set(name, value);
    EXPECT_EQ(c.get(name), value) << name;
  }
  EXPECT_EQ(IpuConfig::metadata("floating_point_behaviour.esr").type, "StochasticRoundingBehaviour");
  EXPECT_EQ(IpuConfig::metadata("matmuls.poplar_options").type, "dict");
  EXPECT_EQ(IpuConfig::metadata("norms.use_stable_statistics").type, "bool");
  EXPECT_THROW(IpuConfig::metadata("norms"), ConfigNameError);
  // Everything changed goes through JSON and back.
  const IpuConfig back = IpuConfig::from_json(c.to_json());
  for (const std::string& name : IpuConfig::names()) EXPECT_EQ(back.get(name), c.get(name)) << name;
  EXPECT_EQ(back.to_json(), c.to_json());
}

TEST(IpuConfig, JsonIsATreeOfAllAttributes) {
  const auto json = nlohmann::json::parse(IpuConfig().to_json());
  EXPECT_EQ(json["floating_point_behaviour"]["esr"], "OFF");
  EXPECT_EQ(json["floating_point_behaviour"]["inv"], false);
  EXPECT_EQ(json["matmuls"]["poplar_options"], nlohmann::json::object());
  EXPECT_EQ(json["norms"]["experimental"]["distributed_batch_norm_replica_group_size"], 1);
  const IpuConfig c = IpuConfig::from_json(
      R"({"floating_point_behaviour": {"esr": true}, "matmuls": {"poplar_options": {"partialsType": "half"}}})");
  EXPECT_EQ(c.floating_point_behaviour.esr, Esr::kOn);
  EXPECT_EQ(c.matmuls.poplar_options.at("partialsType"), "half");
  EXPECT_EQ(IpuConfig::from_json("{}").to_json(), IpuConfig().to_json());
}

TEST(IpuConfig, BadJson) {
  EXPECT_EQ(json_refusal("[1]"), "config: expected a JSON object, got [1]");
  EXPECT_NE(json_refusal("{").find("config: "), std::string::npos);
  EXPECT_NE(json_refusal("").find("config: "), std::string::npos);
  EXPECT_NE(json_refusal(R"({"auto_select_ipus": 1e999})").find("config: "), std::string::npos);  // not a parse_error
  EXPECT_EQ(json_refusal(R"({"norms": {"use_stable_statistics": 1.5}})"),
            "Trying to set norms.use_stable_statistics to 1.5, but it must be of type bool");
  EXPECT_EQ(json_refusal(R"({"norms": {"use_stable_statistics": null}})"),
            "Trying to set norms.use_stable_statistics to null, but it must be of type bool");
  EXPECT_EQ(json_refusal(R"({"norms": {"use_stable_statistics": {}}})"),
            "Trying to set norms.use_stable_statistics to {}, but it must be of type bool");
  EXPECT_EQ(json_refusal(R"({"norms": true})"), "norms is a category and cannot be assigned to.");
  EXPECT_EQ(json_refusal(R"({"norms": [true]})"), "norms is a category and cannot be assigned to.");
  EXPECT_EQ(json_refusal(R"({"matmul": {"poplar_options": {"partialsType": "half"}}})"),
            "'matmul' is not a valid attribute of this config. Did you mean 'matmuls'?");
  EXPECT_EQ(json_refusal(R"({"matmul": {}})"),
            "'matmul' is not a valid attribute of this config. Did you mean 'matmuls'?");
  EXPECT_EQ(json_refusal(R"({"matmuls": {"poplar_options": {"partialsType": 16}}})"),
            "Trying to set matmuls.poplar_options['partialsType'] to 16, but it must be of type str");
  EXPECT_EQ(
      json_refusal(R"({"experimental": {"multi_replica_distribution": {"process_index": 18446744073709551615}}})"),
      "experimental.multi_replica_distribution.process_index is 18446744073709551615; expected a whole number of "
      "64 bits");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
  EXPECT_FALSE(json_refusal((deep + "1" + std::string(100000, '}')).c_str()).empty());
}

std::string option_refusal(const PoplarOptions& options, const char* category = "matmuls") {
  return refusal<std::invalid_argument>([&] { product_options(options, category); });
}

// tests: G42, N112
TEST(ProductOptions, ReadFromPoplarsNames) {
  // TUTORIAL G42
  EXPECT_FALSE(product_options({}, "matmuls").half_partials);
  EXPECT_FALSE(product_options({}, "matmuls").half_between_blocks);
  EXPECT_FALSE(product_options({}, "convolutions").stochastic_off);
  const ProductOptions half = product_options({{"partialsType", "half"}}, "matmuls");
  EXPECT_TRUE(half.half_partials);
  EXPECT_TRUE(half.half_between_blocks) << "interTile is partialsType by default";
  const ProductOptions between = product_options({{"partialsType.interTile", "half"}}, "convolutions");
  EXPECT_FALSE(between.half_partials);
  EXPECT_TRUE(between.half_between_blocks);
  EXPECT_TRUE(
      product_options({{"partialsType", "half"}, {"partialsType.interTile", "float"}}, "matmuls").half_between_blocks)
      << "never larger than the level below";
  EXPECT_TRUE(product_options({{"disableSRForAMPVertices", "true"}}, "matmuls").stochastic_off);
  EXPECT_FALSE(product_options({{"disableSRForAMPVertices", "false"}}, "matmuls").stochastic_off);
  // What the libraries know and results do not depend on.
  EXPECT_NO_THROW(product_options({{"availableMemoryProportion", "0.6"},
                                   {"fullyConnectedPass", "TRAINING_FWD"},
                                   {"enableMultiStageReduce", "true"},
                                   {"planConstraints", "{}"}},
                                  "matmuls"));
  {
    const test::CommaLocale locale;
    EXPECT_NO_THROW(product_options({{"availableMemoryProportion", "0.6"}}, "matmuls"));
  }
  EXPECT_NO_THROW(product_options({{"pass", "FC_TRAINING_WU"}, {"gatherConvOutput", "true"}}, "convolutions"));
}

// tests: G42
TEST(ProductOptions, UnknownKeysAndValues) {
  // TUTORIAL G42
  EXPECT_EQ(option_refusal({{"partialType", "half"}}).substr(0, 88),
            "matmuls.poplar_options: unknown option 'partialType'; nearest: partialsType; known: part");
  EXPECT_NE(option_refusal({{"interPass", "half"}}).find("unknown option 'interPass'"), std::string::npos);
  EXPECT_NE(option_refusal({{"", ""}}).find("unknown option ''"), std::string::npos);
  EXPECT_EQ(option_refusal({{"partialsType", "quarter"}}),
            "matmuls.poplar_options: partialsType is 'quarter'; expected one of half, float");
  EXPECT_EQ(option_refusal({{"partialsType", "Half"}}, "convolutions"),
            "convolutions.poplar_options: partialsType is 'Half'; expected one of half, float");
  EXPECT_EQ(option_refusal({{"disableSRForAMPVertices", "1"}}),
            "matmuls.poplar_options: disableSRForAMPVertices is '1'; expected one of true, false");
  for (const char* bad : {"1.5", "-0.1", "", "nan", "0.5x", "half"})
    EXPECT_EQ(
        option_refusal({{"availableMemoryProportion", bad}}),
        std::string("matmuls.poplar_options: availableMemoryProportion is '") + bad + "'; expected a number in 0..1");
  // Each library has keys of its own.
  EXPECT_NE(option_refusal({{"pass", "NONE"}}).find("unknown option 'pass'"), std::string::npos);
  EXPECT_NE(option_refusal({{"fullyConnectedPass", "NONE"}}, "convolutions").find("; known: "), std::string::npos);
}

}  // namespace
}  // namespace softamp
