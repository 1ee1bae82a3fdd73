// bulk::round_on_device.
#include "cuda/casts/array_round.h"

#include <map>
#include <mutex>

#include "cuda/engine.h"

namespace softamp::cuda {
namespace {

/// The device with this number, for all calls: making one takes longer than most arrays. It is never let go of, as the
/// runtime may end before statics do.
Device& shared_device(int ordinal) {
  static auto& devices = *new std::map<int, std::unique_ptr<Device>>;
  std::unique_ptr<Device>& device = devices[ordinal];
  if (!device) device = std::make_unique<Device>(ordinal);
  return *device;
}

}  // namespace

void round_array(Device& device, const bulk::DeviceRounding& r, const Semantics& semantics,
                 const bulk::BulkOptions& options) {
  ArrayRounding kernel;
  kernel.in = r.in;
  kernel.out = r.out;
  kernel.size = r.size;
  kernel.to = r.to;
  kernel.values = r.values;
  kernel.bytes = static_cast<unsigned>(r.out_bytes());
  kernel.semantics = semantics;
  kernel.fast = FastRound::of(r.to, semantics, false, true);
  if (semantics.draws(r.to)) kernel.random_bits = semantics.rounding(r.to).random_bits;
  kernel.random = options.random.bits();
  kernel.step = options.random.step;
  kernel.operation = options.random.operation;
  kernel.first_index = options.random.first_index;
  DeviceStatus noted = DeviceStatus::none();
  const DeviceArray<DeviceStatus> flags =
      options.status ? DeviceArray<DeviceStatus>(device, {noted}) : DeviceArray<DeviceStatus>();
  kernel.status = const_cast<DeviceStatus*>(flags.data());
  device.begin_operation("round_on_device");
  device.wait_for_all();
  device.launch("round_on_device", loop_grid(device, kernel.groups()), kernel);
  device.wait();
  if (!options.status) return;
  device.download(&noted, flags.data(), sizeof noted);
  options.status->merge(noted.status());
}

void round_on_device(const bulk::DeviceRounding& rounding, const Semantics& semantics,
                     const bulk::BulkOptions& options) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  Device& device = shared_device(rounding.device);
  if (rounding.size != 0) round_array(device, rounding, semantics, options);
}

}  // namespace softamp::cuda
