// A bulk call whose kernels take whole groups of elements: incomplete groups at the ends are padded.
#pragma once

#include "emu/bulk/plan.h"
#include "emu/bulk/reference.h"
#include "emu/bulk/work.h"

namespace softamp::emu {

class GroupedWork : public Work {
 public:
  uint8_t run(size_t begin, size_t count, uint8_t wanted, void* redirect) const final;
  void commit(size_t begin, size_t count, const void* redirected) const final;
  size_t find(size_t begin, size_t count, uint8_t mask, uint8_t& raised) const final;
  uint8_t possible_flags() const final { return kAllFlags; }

 protected:
  struct Input {
    const void* data;
    Element type;
    uint64_t padding;  ///< bit pattern of an operand that raises nothing
  };

  /// Adds an operand array.
  void add_input(const void* data, Element type, uint64_t padding) { inputs_[input_count_++] = {data, type, padding}; }
  /// Sets the output and what depends on it; call it after all inputs are added.
  void set_output(void* data, Element type, size_t elements);

  virtual uint8_t kernel(const Slice& slice, uint8_t wanted) const = 0;
  virtual Rounded reference(size_t element, uint32_t word) const = 0;

  uint64_t input(int k, size_t element) const { return load_element(inputs_[k].data, inputs_[k].type, element); }
  Element input_type(int k) const { return inputs_[k].type; }
  Element output_type() const { return output_type_; }

  RandomPlan random_{};
  int random_bits_ = 0;     ///< of a stochastic policy, else 0
  bool vectorised_ = true;  ///< false: by the scalar reference

 private:
  /// What `run` does; `words`, if not null: one for each element, from `begin` on.
  uint8_t run_groups(size_t begin, size_t count, const uint32_t* words, uint8_t wanted, char* out, bool stream) const;
  uint8_t run_reference(size_t begin, size_t count, char* out) const;
  /// Computes `count` (<= kGroup - lead) elements as a padded group, from its position `lead` on.
  uint8_t run_padded(size_t begin, size_t count, size_t lead, const uint32_t* words, uint8_t wanted, char* out) const;
  /// The position of element `begin` in its draw block of 8.
  size_t lead_of(size_t begin) const { return draws ? (random_.first_index + begin) % 8 : 0; }

  Input inputs_[3] = {};
  int input_count_ = 0;
  void* output_ = nullptr;
  Element output_type_ = Element::kU16;
  bool stream_ = false;
};

}  // namespace softamp::emu
