// What a result stands on, as every form of it says: program, arithmetic, command, inputs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "src/files/run_files.h"

namespace softamp::program {

/// The words of the command line; main calls it before any verb runs.
void remember_command(int count, const char* const* words);

/// The files that a run reads, as they are now: their SHA-256 goes into its JSON document. To be called before the run
/// writes anything. Pipes and devices are left out, and so is what is not there. Throws UsageError for a file that
/// cannot be read.
void remember_inputs(const files::RunFiles& files);

/// The instruction set that was asked for, where it is not the best one here.
void remember_instruction_set(const std::string& name);

/// {"version": "0.1.0", "commit": "3fa9...", "arithmetic": 6, "instruction_set": "avx2", "command": "softamp sum ...",
/// "inputs": {"x.npy": "9f86d0..."}}; commit: where the program was built from a checkout.
nlohmann::ordered_json provenance();

/// "softamp 0.1.0, arithmetic 6: softamp sum --value 0.1 --count 1000"
std::string provenance_line();

}  // namespace softamp::program
