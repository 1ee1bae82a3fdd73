// Files of other programs that were taken for ours are named for what they are.
#include "src/files/known_file.h"

#include <gtest/gtest.h>

#include "softamp/data/npz.h"
#include "softamp/graph/graph_json.h"
#include "softamp/precision/graph_def.h"
#include "src/files/input_file.h"
#include "src/files/regular_file.h"

#include "tests/files.h"
#include "tests/refusal.h"

namespace softamp::files {
namespace {

using test::TemporaryFolder;
using test::write_text;

/// A field of a message of protobuf's that holds bytes.
std::string wire(int number, const std::string& bytes) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) + bytes;
}
std::string node_def() { return wire(1, "x") + wire(2, "Placeholder") + wire(5, wire(1, "dtype") + wire(2, "0\x01")); }
std::string graph_def() { return wire(1, node_def()) + wire(4, std::string("\x08\x0c", 2)); }
std::string meta_graph() { return wire(1, wire(4, "serve") + wire(5, "2.13.1")) + wire(2, graph_def()); }
std::string onnx() {
  return "\x08\x08" + wire(2, "pytorch") + wire(3, "2.1") + wire(7, wire(1, wire(4, "Relu")) + wire(2, "g")) +
         wire(8, "\x10\x11");
}
std::string safetensors() {
  const std::string header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  return static_cast<char>(header.size()) + std::string(7, '\0') + header + std::string(8, '\0');
}
std::string zip(const std::string& name) { return "PK\x03\x04" + std::string(26, '\0') + name + " contents"; }

TEST(KnownFile, ByTheirBytes) {
  const std::pair<std::string, const char*> kFiles[] = {
      {"\x08\x01" + wire(2, meta_graph()), "a SavedModel of TensorFlow"},
      {"saved_model_schema_version: 1\n", "a SavedModel of TensorFlow"},
      {meta_graph(), "a MetaGraph of TensorFlow"},
      {"\nmeta_info_def {\n", "a MetaGraph of TensorFlow"},
      {std::string(20, 'i') + "\x57\xfb\x80\x8b\x24\x75\x47\xdb", "part of a checkpoint of TensorFlow"},
      {"model_checkpoint_path: \"model\"\n", "part of a checkpoint of TensorFlow"},
      {onnx(), "a model of ONNX"},
      {safetensors(), "a file of safetensors"},
      {zip("model/data.pkl"), "a checkpoint of PyTorch"},
      {std::string("\x80\x02}q", 4), "a pickle of Python"},
      {"\x89HDF\r\n\x1a\n", "a file of HDF5"},
      {zip("metadata.json") + zip("config.json"), "a model of Keras"},
      {zip("x.npy"), "an archive of NumPy (.npz)"},
      {"\x93NUMPY\x01", "an array of NumPy (.npy)"},
      {std::string("\x1c\0\0\0TFL3 ", 9), "a model of TensorFlow Lite"},
      {"GGUF\x03", "a model of llama.cpp"},
      {"\x1f\x8b\x08", "a gzipped file"}};
  for (const auto& [bytes, kind] : kFiles)
    EXPECT_TRUE(known_kind(bytes, "m").starts_with(kind)) << kind << ": " << known_kind(bytes, "m");
  EXPECT_TRUE(known_kind("\x01\x02", "m.ckpt.data-00000-of-00001").starts_with("part of a checkpoint"));
}

TEST(KnownFile, OursAreNotTakenForOthers) {
  EXPECT_EQ(known_kind(graph_def(), "graph.pb"), "");
  EXPECT_EQ(known_kind(wire(1, node_def()) + wire(2, wire(1, "library")), "graph.pb"), "");
  EXPECT_EQ(known_kind("", "graph.pb"), "");
  EXPECT_EQ(known_kind("node { name: \"x\" op: \"NoOp\" }", "g.pbtxt"), "");
  EXPECT_EQ(known_kind("{\"nodes\": []}", "g.json"), "");
  for (const char* name : {"two_dense_layers.pbtxt", "chain.pbtxt", "small_cnn.pbtxt", "recurrent.pbtxt"}) {
    const std::string file = std::string(SOFTAMP_SOURCE_DIR "/examples/graphs/") + name;
    EXPECT_EQ(known_kind(GraphDefFile::load(file).binary(), "graph.pb"), "") << name;
    EXPECT_EQ(known_kind_of(file), "") << name;
  }
  // Every cut of each, and every byte changed, ends.
  for (const std::string& bytes : {onnx(), meta_graph(), safetensors(), graph_def()})
    for (size_t at = 0; at < bytes.size(); ++at) {
      known_kind(bytes.substr(0, at), "m");
      for (const char c : {'\0', '\x7f', '\xff'}) known_kind(std::string(bytes).replace(at, 1, 1, c), "m");
    }
}

TEST(KnownFile, EveryReaderSaysIt) {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& name, const std::string& bytes) {
    write_text(folder.file(name), bytes);
    return folder.file(name);
  };
  const auto graph = [&](const std::string& name, const std::string& bytes) {
    return test::refusal<std::invalid_argument>([&] { load_graph(file(name, bytes)); });
  };
  const auto def = [&](const std::string& name, const std::string& bytes) {
    return test::refusal<GraphDefError>([&] { GraphDefFile::load(file(name, bytes)); });
  };
  EXPECT_NE(graph("m.onnx", onnx()).find("m.onnx: is a model of ONNX, which is not read here; expected graph JSON"),
            std::string::npos);
  EXPECT_NE(graph("m.json", safetensors()).find("is a file of safetensors"), std::string::npos);
  EXPECT_NE(def("saved_model.pb", "\x08\x01" + wire(2, meta_graph())).find("is a SavedModel of TensorFlow"),
            std::string::npos);
  EXPECT_NE(def("m.pb", meta_graph()).find("is a MetaGraph of TensorFlow"), std::string::npos);
  EXPECT_NE(def("m.pb", onnx()).find("is a model of ONNX"), std::string::npos);
  std::filesystem::create_directory(folder.path() / "saved");
  file("saved/saved_model.pb", "\x08\x01");
  EXPECT_NE(
      test::refusal<std::invalid_argument>([&] { load_graph(folder.file("saved")); }).find("saved: is a SavedModel"),
      std::string::npos);
  EXPECT_NE(test::refusal<npy::Error>([&] {
              npz::Reader(std::filesystem::path(folder.file("saved")));
            }).find("saved: is a SavedModel of TensorFlow; "),
            std::string::npos);
  EXPECT_NE(test::refusal<files::InputError>([&] {
              RegularFile(folder.file("saved"), "a checkpoint");
            }).find("saved: is a SavedModel"),
            std::string::npos);
  for (const std::string& bytes : {safetensors(), onnx(), std::string("\x89HDF\r\n\x1a\n")}) {
    const std::string fault =
        test::refusal<npy::Error>([&] { npz::Reader(std::filesystem::path(file("w.npz", bytes))); });
    EXPECT_NE(fault.find("w.npz: is a "), std::string::npos) << fault;
    EXPECT_NE(fault.find("; expected an archive of NumPy (.npz)"), std::string::npos) << fault;
  }
}

}  // namespace
}  // namespace softamp::files
