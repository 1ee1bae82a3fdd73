#include "src/files/known_file.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>

namespace softamp::files {
namespace {

constexpr const char* kSavedModel =
    "a SavedModel of TensorFlow; tf.io.write_graph(f.graph, '.', 'graph.pb', as_text=False) writes the graph of one of "
    "its concrete functions f, and numpy.savez what tf.train.load_checkpoint reads in its folder 'variables' as .npz";
constexpr const char* kMetaGraph =
    "a MetaGraph of TensorFlow (.meta), which has a GraphDef in it: write its graph_def.SerializeToString() to a .pb";
constexpr const char* kCheckpoint =
    "part of a checkpoint of TensorFlow; numpy.savez writes what tf.train.load_checkpoint reads as .npz";
constexpr const char* kOnnx = "a model of ONNX, which is not read here";
constexpr const char* kPyTorch =
    "a checkpoint of PyTorch; numpy.savez(FILE, **{name: t.numpy() for name, t in torch.load(...).items()}) writes "
    ".npz";

/// A field of a message of protobuf's.
struct WireField {
  uint64_t number = 0;
  bool text = false;       ///< of a length and bytes
  std::string_view bytes;  ///< as far as they are there
};

/// The fields of a message, as far as its bytes are well formed; the last may be cut off.
class WireFields {
 public:
  explicit WireFields(std::string_view bytes) : left_(bytes) {}

  std::optional<WireField> next() {
    const auto tag = varint();
    if (!tag || *tag >> 3 == 0) return std::nullopt;
    WireField field{*tag >> 3, (*tag & 7) == 2, {}};
    if (field.text) {
      const auto size = varint();
      if (!size) return std::nullopt;
      field.bytes = left_.substr(0, *size);
      left_.remove_prefix(field.bytes.size());
      return field;
    }
    if ((*tag & 7) == 0) return varint() ? std::optional(field) : std::nullopt;
    const size_t size = (*tag & 7) == 1 ? 8 : 4;
    if (((*tag & 7) != 1 && (*tag & 7) != 5) || left_.size() < size) return std::nullopt;
    left_.remove_prefix(size);
    return field;
  }

 private:
  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  std::string_view left_;
};

/// The version of TensorFlow in the first field of a MetaGraph; a GraphDef has a node there, with attributes instead.
bool names_a_version(std::string_view meta_info) {
  WireFields fields(meta_info);
  while (const auto field = fields.next())
    if (field->number == 5 && field->text)
      return field->bytes.find('.') != std::string_view::npos && field->bytes[0] >= '0' && field->bytes[0] <= '9';
  return false;
}

const char* kind_of_message(std::string_view bytes) {
  constexpr uint64_t kOnnxGraph = 7, kOnnxOpsets = 8;
  WireFields fields(bytes);
  const auto first = fields.next();
  if (!first || first->number != 1) return nullptr;
  const auto second = fields.next();
  if (first->text) return second && second->number == 2 && names_a_version(first->bytes) ? kMetaGraph : nullptr;
  if (second && second->number == 2 && second->text && second->bytes.starts_with('\n')) return kSavedModel;
  for (auto field = second; field; field = fields.next())
    if (field->text && (field->number == kOnnxGraph || field->number == kOnnxOpsets)) return kOnnx;
  return nullptr;
}

bool is_safetensors(std::string_view bytes) {
  constexpr uint64_t kMostHeader = 100000000;
  if (bytes.size() < 10 || bytes[8] != '{' || (bytes[9] != '"' && bytes[9] != '}' && bytes[9] != ' ')) return false;
  uint64_t size = 0;
  for (int i = 7; i >= 0; --i) size = size << 8 | static_cast<unsigned char>(bytes[static_cast<size_t>(i)]);
  return size > 1 && size <= kMostHeader;
}

const char* kind_of_zip(std::string_view bytes) {
  const auto has = [&](const char* text) { return bytes.find(text) != std::string_view::npos; };
  if (has("/data.pkl")) return kPyTorch;
  if (has("metadata.json") && has("config.json"))
    return "a model of Keras (.keras); numpy.savez writes its weights as .npz";
  return has(".npy") ? "an archive of NumPy (.npz)" : "a zip archive";
}

const char* kind_of_bytes(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("\x89HDF\r\n\x1a\n"))
    return "a file of HDF5, as Keras saves (.h5); numpy.savez writes its arrays as .npz";
  if (bytes.starts_with("\x93NUMPY")) return "an array of NumPy (.npy)";
  if (bytes.starts_with("PK\x03\x04")) return kind_of_zip(bytes);
  if (bytes.starts_with("\x1f\x8b")) return "a gzipped file; gunzip unpacks it";
  if (bytes.starts_with("GGUF")) return "a model of llama.cpp (GGUF), which is not read here";
  if (bytes.size() > 8 && bytes.substr(4, 4) == "TFL3") return "a model of TensorFlow Lite, which is not read here";
  if (bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5)
    return "a pickle of Python, as older checkpoints of PyTorch are; numpy.savez writes arrays as .npz";
  if (is_safetensors(bytes)) return "a file of safetensors; numpy.savez writes its tensors as .npz";
  if (bytes.ends_with("\x57\xfb\x80\x8b\x24\x75\x47\xdb"sv)) return kCheckpoint;
  const size_t text = std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size());
  for (const auto& [begin, kind] : {std::pair{"saved_model_schema_version"sv, kSavedModel},
                                    {"meta_info_def"sv, kMetaGraph},
                                    {"model_checkpoint_path"sv, kCheckpoint}})
    if (bytes.substr(text).starts_with(begin)) return kind;
  return kind_of_message(bytes);
}

/// "model.ckpt.data-00000-of-00001", whose bytes are those of arrays alone.
bool is_checkpoint_data(std::string_view name) {
  const size_t at = name.rfind(".data-");
  if (at == std::string_view::npos) return false;
  const std::string_view rest = name.substr(at + 6);
  const size_t of = rest.find("-of-");
  const auto digits = [](std::string_view t) {
    return !t.empty() && t.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return of != std::string_view::npos && digits(rest.substr(0, of)) && digits(rest.substr(of + 4));
}

}  // namespace

std::string known_kind(std::string_view bytes, std::string_view name) {
  if (is_checkpoint_data(name)) return kCheckpoint;
  const char* kind = kind_of_bytes(bytes);
  return kind ? kind : "";
}

std::string known_kind_of(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  constexpr size_t kMost = size_t{1} << 20;
  std::error_code none;
  if (fs::is_directory(file, none))
    return fs::exists(file / "saved_model.pb", none) || fs::exists(file / "saved_model.pbtxt", none) ? kSavedModel : "";
  if (!fs::is_regular_file(file, none)) return "";
  std::ifstream in(file, std::ios::binary);
  std::string bytes(kMost, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(in.gcount()));
  return known_kind(bytes, file.filename().string());
}

}  // namespace softamp::files
