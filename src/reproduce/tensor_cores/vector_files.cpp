#include "src/reproduce/tensor_cores/vector_files.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string_view>

#include "softamp/data/images.h"
#include "softamp/names/names.h"
#include "src/data/archive.h"
#include "src/files/sha256.h"
#include "src/text/joined.h"

namespace softamp::reproduce::matrix_units {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostBytes = uint64_t{1} << 28;
constexpr size_t kMostProducts = 64;

struct Gpu {
  std::string_view name;
  Accumulator accumulator;
};
constexpr Gpu kGpus[] = {
    {"V100", Accumulator::kTensorCoreVolta},     {"T4", Accumulator::kTensorCoreTuring},
    {"A100", Accumulator::kTensorCoreAmpere},    {"A2", Accumulator::kTensorCoreAmpere},
    {"Ada", Accumulator::kTensorCoreAda},        {"L40S", Accumulator::kTensorCoreAda},
    {"H100", Accumulator::kTensorCoreHopper},    {"H200", Accumulator::kTensorCoreHopper},
    {"B200", Accumulator::kTensorCoreBlackwell},
};
struct Operand {
  std::string_view name;
  FloatFormat format;
};
constexpr Operand kOperands[] = {{"fp16", kFp16}, {"bf16", kBf16}, {"tf32", kTf32}, {"E4M3", kE4m3}, {"E5M2", kE5m2}};

template <typename T, size_t n>
const T* find(const T (&rows)[n], std::string_view name) {
  for (const T& row : rows)
    if (row.name == name) return &row;
  return nullptr;
}
template <typename T, size_t n>
std::string names(const T (&rows)[n]) {
  return joined(rows, ", ", &T::name);
}

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw std::invalid_argument("tensor-core-vectors: " + path.string() + ": " + why);
}

/// What a folder holds, in the order of names; nothing where it is none.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(entry->path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool has_gpus(const fs::path& folder) {
  for (const fs::path& entry : entries_of(folder))
    if (find(kGpus, entry.filename().string()) && fs::is_directory(entry)) return true;
  return false;
}

/// The folder that holds those of the GPUs; empty where there is none.
fs::path place_of(const std::string& folder) {
  for (const fs::path& place : {fs::path(folder) / "tensor_cores", fs::path(folder)})
    if (has_gpus(place)) return place;
  return {};
}

/// The sets of one folder GPU/FORMAT: one for each file of results.
void add_sets(const std::string& gpu, const Operand& operand, const fs::path& folder, std::vector<VectorSet>& sets) {
  std::map<std::string, fs::path> files;
  for (const fs::path& entry : entries_of(folder)) {
    std::string name = entry.filename().string();
    if (name.size() > 3 && name.compare(name.size() - 3, 3, ".gz") == 0) name.resize(name.size() - 3);
    if (!files.emplace(name, entry).second) refuse(entry, "is there twice, packed and unpacked; expected one of them");
  }
  const auto take = [&](const std::string& name) {
    const auto found = files.find(name);
    if (found == files.end()) refuse(folder, "has no file " + name + " or " + name + ".gz; expected one of them");
    const fs::path file = found->second;
    files.erase(found);
    return file;
  };
  const std::string of_operand = "_" + gpu + "_" + std::string(operand.name) + ".txt";
  const fs::path a = take("a" + of_operand), b = take("b" + of_operand), c = take("c_" + gpu + "_fp32.txt");
  const size_t before = sets.size();
  for (const bool halves : {false, true}) {
    const std::string d = "d_" + gpu + (halves ? "_fp16.txt" : "_fp32.txt");
    if (files.count(d)) sets.push_back({gpu, operand.format, halves, {a, b, c, take(d)}});
  }
  if (sets.size() == before) take("d_" + gpu + "_fp32.txt");  // refuses
  if (!files.empty())
    refuse(files.begin()->second, "is no file of this folder; expected a, b" + of_operand + ", c_" + gpu +
                                      "_fp32.txt, d_" + gpu + "_fp32.txt or _fp16.txt, each .gz or not");
}

/// A text, line by line.
class Lines {
 public:
  Lines(const fs::path& file, Sha256& digest) : file_(file), bytes_(archive::read_file(file, kMostBytes)) {
    digest.add(bytes_.data(), bytes_.size());
    rest_ = {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const size_t end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    ++number_;
    return true;
  }
  [[noreturn]] void refuse(std::string_view found, const std::string& expected) const {
    throw DataError(file_.string() + ": line " + std::to_string(number_) + ": '" + std::string(found.substr(0, 40)) +
                    "'; expected " + expected);
  }

 private:
  fs::path file_;
  std::vector<std::byte> bytes_;
  std::string_view rest_;
  size_t number_ = 0;
};

/// `digits` of base 2 or 16, nothing else.
bool read_code(std::string_view word, size_t digits, unsigned base, uint32_t& code) {
  if (word.size() != digits) return false;
  code = 0;
  for (const char c : word) {
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                           : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A' + 10)
                                                  : 16u;
    if (digit >= base) return false;
    code = code * base + digit;
  }
  return true;
}

/// Operands; `k`: of a line, 0 if that is not known yet.
std::vector<uint32_t> read_operands(const fs::path& file, const FloatFormat& format, size_t& k, Sha256& digest) {
  const std::string of_format = "numbers of " + format_name(format) + ": fp32 codes of 8 hexadecimal digits";
  std::vector<uint32_t> codes;
  Lines lines(file, digest);
  for (std::string_view line; lines.next(line);) {
    size_t count = 0;
    while (!line.empty()) {
      const size_t end = std::min(line.find(' '), line.size());
      const std::string_view word = line.substr(0, end);
      line.remove_prefix(std::min(end + 1, line.size()));
      uint32_t code = 0;
      if (!read_code(word, 8, 16, code)) lines.refuse(word, of_format);
      const bool exact = format == kTf32 ? (code & 0x1FFF) == 0 : tensor_core_operand(format, code) == code;
      const bool has = kFp32.is_nan(code) || (exact && (format.has_infinity() || !kFp32.is_infinity(code)));
      if (!has) lines.refuse(word, of_format);
      codes.push_back(code);
      ++count;
    }
    if (k == 0 && count <= kMostProducts) k = count;
    if (count != k || count == 0)
      lines.refuse(std::to_string(count) + " operands",
                   k == 0 ? "1 to " + std::to_string(kMostProducts) : std::to_string(k) + ", as on the lines before");
  }
  return codes;
}

std::vector<uint32_t> read_codes(const fs::path& file, size_t count, bool halves, Sha256& digest) {
  const std::string expected =
      std::string(halves ? "an fp16 number, its fp32 code" : "an fp32 code") + " of 32 binary digits";
  std::vector<uint32_t> codes;
  Lines lines(file, digest);
  for (std::string_view line; lines.next(line);) {
    uint32_t code = 0;
    if (!read_code(line, 32, 2, code)) lines.refuse(line, expected);
    if (halves && kFp32.is_finite(code) && tensor_core_single(tensor_core_half(code)) != code)
      lines.refuse(line, expected);
    codes.push_back(code);
  }
  if (codes.size() != count)
    throw DataError(file.string() + ": has " + std::to_string(codes.size()) + " lines; expected " +
                    std::to_string(count) + ", as the files beside it have");
  return codes;
}

}  // namespace

VectorModel model_of(const VectorSet& set) {
  const Accumulator accumulator = find(kGpus, set.gpu)->accumulator;
  if (set.operand.storage_bits() > 8) return {accumulator, "mma", false};
  if (accumulator == Accumulator::kTensorCoreBlackwell)
    return {Accumulator::kTensorCoreBlackwellMma, "mma.sync", false};
  if (accumulator != Accumulator::kTensorCoreHopper) return {accumulator, "mma.sync", false};
  if (set.halves) return {Accumulator::kTensorCoreHopperMma, "mma.sync", false};
  return {accumulator, "wgmma without C", true};
}

std::vector<fs::path> vector_files(const std::string& folder) {
  std::vector<fs::path> files;
  const fs::path place = place_of(folder);
  if (place.empty()) return files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error))
    if (entry->is_regular_file(error)) files.push_back(entry->path());
  return files;
}

std::vector<VectorSet> vector_sets(const std::string& folder) {
  const fs::path place = place_of(folder);
  if (place.empty())
    refuse(folder, "has no folder of a GPU, nor has its folder tensor_cores; expected one of " + names(kGpus));
  std::vector<VectorSet> sets;
  for (const fs::path& gpu : entries_of(place)) {
    const std::string name = gpu.filename().string();
    if (!fs::is_directory(gpu) || name == "CUDA") continue;  // what describes the data, or made them
    if (!find(kGpus, name)) refuse(gpu, "is no GPU that is known; expected one of " + names(kGpus));
    for (const fs::path& format : entries_of(gpu)) {
      const Operand* const operand = find(kOperands, format.filename().string());
      if (!operand || !fs::is_directory(format))
        refuse(format, "is no format of operands; expected one of " + names(kOperands));
      if (!tensor_core(find(kGpus, name)->accumulator, operand->format).exists())
        refuse(format, "a " + name + " has no operands of " + format_name(operand->format));
      add_sets(name, *operand, format, sets);
    }
  }
  return sets;
}

Vectors read_vectors(const VectorSet& set) {
  Vectors v;
  Sha256 digest;
  v.a = read_operands(set.files[0], set.operand, v.k, digest);
  v.b = read_operands(set.files[1], set.operand, v.k, digest);
  v.lines = v.k == 0 ? 0 : v.a.size() / v.k;
  if (v.b.size() != v.a.size())
    throw DataError(set.files[1].string() + ": has " + std::to_string(v.k == 0 ? 0 : v.b.size() / v.k) +
                    " lines; expected " + std::to_string(v.lines) + ", as the files beside it have");
  v.c = read_codes(set.files[2], v.lines, false, digest);
  v.d = read_codes(set.files[3], v.lines, set.halves, digest);
  v.digest = digest.hex();
  return v;
}

}  // namespace softamp::reproduce::matrix_units
