// bulk::round_as on a device.
#include "cuda/casts/cvt_rs.h"

#include <algorithm>

#include "cuda/engine.h"

namespace softamp::cuda {
namespace {

constexpr size_t kChunk = size_t{1} << 22;  // elements on the device at a time

/// Bytes of a device's memory, released with this object.
class Memory {
 public:
  Memory(Device& device, size_t bytes) : device_(device), data_(device.allocate(bytes)) {}
  ~Memory() { device_.release(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* data() const { return data_; }

 private:
  Device& device_;
  void* data_;
};

template <CvtRsType kType>
void round_packed(const bulk::ChipConversion& conversion, std::span<const float> in, void* codes,
                  const bulk::RandomSource& random, FpStatus* status) {
  using Kernel = PackedRounding<kType>;
  const size_t most = std::min(in.size(), kChunk), most_words = (most + Kernel::kLanes - 1) / Kernel::kLanes;
  Device device;
  device.begin_operation("round_as");
  const Memory values(device, most * sizeof(float)), results(device, most * Kernel::kBytes),
      words(device, random.words ? most_words * sizeof(uint32_t) : sizeof(uint32_t)),
      flags(device, sizeof(DeviceStatus));
  Kernel kernel = Kernel::of(conversion.chip, conversion.overflow);
  kernel.in = static_cast<const float*>(values.data());
  kernel.out = results.data();
  kernel.words = random.words ? static_cast<const uint32_t*>(words.data()) : nullptr;
  kernel.random = random.bits();
  kernel.step = random.step;
  kernel.operation = random.operation;
  kernel.status = status ? static_cast<DeviceStatus*>(flags.data()) : nullptr;
  for (size_t done = 0; done < in.size(); done += kernel.size) {
    kernel.size = std::min(in.size() - done, kChunk);
    kernel.first_index = random.words ? 0 : random.first_index + done;
    kernel.vectors = kernel.first_index % Kernel::kElements == 0 && detail::aligned_groups(kernel.in, 4) &&
                     detail::aligned_groups(kernel.out, 4);
    device.upload(values.data(), in.data() + done, kernel.size * sizeof(float));
    if (random.words)
      device.upload(words.data(), random.words + done / Kernel::kLanes,
                    (kernel.size + Kernel::kLanes - 1) / Kernel::kLanes * sizeof(uint32_t));
    DeviceStatus noted = DeviceStatus::none();
    device.upload(flags.data(), &noted, sizeof noted);
    device.launch("round_as", loop_grid(device, kernel.groups()), kernel);
    device.wait();
    device.download(static_cast<unsigned char*>(codes) + done * Kernel::kBytes, results.data(),
                    kernel.size * Kernel::kBytes);
    if (!status) continue;
    device.download(&noted, flags.data(), sizeof noted);
    status->merge(noted.status(done));
  }
}

}  // namespace

void round_as(const bulk::ChipConversion& conversion, std::span<const float> in, void* codes,
              const bulk::RandomSource& random, FpStatus* status) {
  const auto round = conversion.to == FloatFormat::fp16()   ? round_packed<CvtRsType::kF16x2>
                     : conversion.to == FloatFormat::bf16() ? round_packed<CvtRsType::kBf16x2>
                     : conversion.to == FloatFormat::e4m3() ? round_packed<CvtRsType::kE4m3x4>
                                                            : round_packed<CvtRsType::kE5m2x4>;
  if (!in.empty()) round(conversion, in, codes, random, status);
}

}  // namespace softamp::cuda
