// Files of results that real tensor cores gave, as MATLAB-tensor-core's model_validation has them: a folder for each
// GPU, in it one for each format of operands, and there, a case to a line, gzipped or not,
//
//   a_GPU_FORMAT.txt, b_GPU_FORMAT.txt    K operands: fp32 codes of 8 hexadecimal digits, numbers of the format
//   c_GPU_fp32.txt                        the accumulator: an fp32 code of 32 binary digits
//   d_GPU_fp32.txt or d_GPU_fp16.txt      the result; of fp16, widened to fp32
//
// Operands, accumulators and results may be infinite or NaN; of a NaN only that it is one counts.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "softamp/numerics/products/tensor_core.h"

namespace softamp::reproduce::matrix_units {

/// The results of one GPU for one format of operands and one of results.
struct VectorSet {
  std::string gpu;  ///< "A100"
  FloatFormat operand;
  bool halves;                                 ///< results of fp16
  std::array<std::filesystem::path, 4> files;  ///< a, b, c, d
};

/// What computed a set: the instruction, and our model of it.
struct VectorModel {
  Accumulator accumulator;
  const char* instruction;  ///< "mma.sync", "wgmma, C = 0"
  bool without_c;           ///< C has no part in the result
};
VectorModel model_of(const VectorSet& set);

/// The cases of a set.
struct Vectors {
  size_t k = 0, lines = 0;
  std::vector<uint32_t> a, b;  ///< k of them to a line
  std::vector<uint32_t> c, d;
  std::string digest;  ///< SHA-256 of the four texts, one after the other, unpacked
};

/// Files of the sets in `folder`, or in its folder tensor_cores; none where neither has a folder with the name of a GPU
/// that is known.
std::vector<std::filesystem::path> vector_files(const std::string& folder);

/// The sets of such a folder, in the order of their names. Throws std::invalid_argument, which names the file or the
/// folder, where the layout is another: an unknown folder, a file that is missing, or one too many.
std::vector<VectorSet> vector_sets(const std::string& folder);

/// Throws DataError, which names file and line, for what is no case.
Vectors read_vectors(const VectorSet& set);

}  // namespace softamp::reproduce::matrix_units
