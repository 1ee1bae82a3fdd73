// Kernels by instruction set: the one place that lists the sets for all families of operations. Those of bulk/ and of
// products, which know AVX512-FP16 too, choose for themselves (dispatch.cpp, products/product_plan.cpp).
#pragma once

#include "emu/bulk/dispatch.h"

namespace softamp::emu {

/// A family's tables; null: the build has no code for that set.
template <class Table>
struct TablesOfSets {
  const Table *portable, *avx2, *avx512, *neon;
};

/// The table of `set` (kAuto: the best available). Throws as kernels_of.
template <class Table>
const Table& table_of(const TablesOfSets<Table>& tables, bulk::InstructionSet set) {
  if (set == bulk::InstructionSet::kAuto) set = bulk::best_instruction_set();
  kernels_of(set);  // refuses an unavailable set
  switch (set) {
    case bulk::InstructionSet::kAvx2: return *tables.avx2;
    case bulk::InstructionSet::kAvx512:
    case bulk::InstructionSet::kAvx512Fp16: return *tables.avx512;
    case bulk::InstructionSet::kNeon: return *tables.neon;
    default: return *tables.portable;
  }
}

#if defined(SOFTAMP_HAS_AVX2)
#define SOFTAMP_IF_AVX2(table) table
#else
#define SOFTAMP_IF_AVX2(table) nullptr
#endif
#if defined(SOFTAMP_HAS_AVX512)
#define SOFTAMP_IF_AVX512(table) table
#else
#define SOFTAMP_IF_AVX512(table) nullptr
#endif
#if defined(SOFTAMP_HAS_AVX512FP16)
#define SOFTAMP_IF_AVX512FP16(table) table
#else
#define SOFTAMP_IF_AVX512FP16(table) nullptr
#endif
#if defined(SOFTAMP_HAS_NEON)
#define SOFTAMP_IF_NEON(table) table
#else
#define SOFTAMP_IF_NEON(table) nullptr
#endif

/// Declares a family's tables kPortable<Name>, kAvx2<Name>, kAvx512<Name> and kNeon<Name>, which the files of these
/// sets define, and the function that chooses among them: table_of.
#define SOFTAMP_TABLES(Table, Name, function)                                                                   \
  extern const Table kPortable##Name, kAvx2##Name, kAvx512##Name, kNeon##Name;                                  \
  inline const Table& function(bulk::InstructionSet set) {                                                      \
    return table_of<Table>({&kPortable##Name, SOFTAMP_IF_AVX2(&kAvx2##Name), SOFTAMP_IF_AVX512(&kAvx512##Name), \
                            SOFTAMP_IF_NEON(&kNeon##Name)},                                                     \
                           set);                                                                                \
  }

}  // namespace softamp::emu
