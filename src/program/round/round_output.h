// Where the results of `softamp round` go: .npy files, one each, or tensors of one .safetensors file.
#pragma once

#include "src/program/format_choice.h"
#include "src/program/round/array_reader.h"

#include "softamp/data/npy.h"
#include "softamp/data/safetensors.h"
#include "softamp/numerics/block/block_format.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace softamp::program {

struct RoundOptions;

/// The type of tensors that has these codes: F16, BF16, F32, F8_E4M3, F8_E5M2 and those of FNUZ, I8 for MX's INT8,
/// F8_E8M0; else unsigned numbers. Of 4 bits F4, where blocks are made of them, and U8 for single codes. Of 6 bits U8:
/// how they lie in F6_E2M3 and F6_E3M2 is said nowhere.
TensorElement tensor_type(const FormatChoice& choice);
TensorElement tensor_type(const block::Element& element);
/// That of scales: F8_E8M0 of MX, F8_E4M3 of NVFP4, F32 of FP8.
TensorElement scale_tensor_type(const block::BlockFormat& format);

/// One result: codes, values or scales.
struct RoundResult {
  std::string file;    ///< of a .npy file
  std::string suffix;  ///< of a tensor: what follows the name
  npy::ElementType type;
  TensorElement tensor_type;
  std::vector<uint64_t> shape;
};

/// What a tensor is called that holds a result: the word behind FILE.safetensors:, else that of the tensor that is
/// read, else the name of the file that is read, without its ending.
std::string tensor_name(const RoundOptions& o);

/// Writes them, by turns, whole or not at all.
class RoundOutput {
 public:
  /// settings: kept in a .safetensors file, as its metadata "softamp". Throws npy::Error, safetensors::Error.
  RoundOutput(const RoundOptions& o, std::vector<RoundResult> results, const std::string& settings);

  /// The next elements, as results[i].type has them; of F4 bytes of two.
  void write(size_t i, const void* elements, size_t count);
  /// Puts the files in place, the last one first.
  void commit();

  /// For reports: "out.safetensors:w_scale".
  const std::string& place(size_t i) const { return places_[i]; }
  /// As the file spells it: "<f4", "F8_E4M3".
  std::string type_name(size_t i) const;

 private:
  std::vector<RoundResult> results_;
  std::vector<std::string> places_;
  std::vector<std::unique_ptr<npy::Writer>> arrays_;
  std::string name_;
  std::optional<safetensors::Writer> tensors_;
};

}  // namespace softamp::program
