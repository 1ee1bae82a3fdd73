// The element types of safetensors.
#include "softamp/data/safetensors.h"

namespace softamp::safetensors {
namespace {

struct TypeRow {
  const char* name;
  int bits;
};
constexpr TypeRow kTypes[kElementTypes] = {
    {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
    {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
    {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
};
static_assert(static_cast<int>(ElementType::kU64) + 1 == kElementTypes);

}  // namespace

int bits_of(ElementType type) { return kTypes[static_cast<size_t>(type)].bits; }
const char* name_of(ElementType type) { return kTypes[static_cast<size_t>(type)].name; }

std::optional<ElementType> parse_type(std::string_view name) {
  for (int i = 0; i < kElementTypes; ++i)
    if (name == kTypes[i].name) return static_cast<ElementType>(i);
  return std::nullopt;
}

}  // namespace softamp::safetensors
