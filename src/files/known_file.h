// What a file is that was taken for another: models and weights that other programs write, by their bytes and names.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace softamp::files {

/// The kind of a file of a common kind, and what to do with it: "a model of ONNX, which is not read here". Empty: none
/// that is known, so also a text, and a GraphDef. bytes: the beginning, or all of them; name: of the file.
std::string known_kind(std::string_view bytes, std::string_view name);
/// The same of a file by its first megabyte, or of a folder; "" also if it cannot be read. Reads no pipes and devices.
std::string known_kind_of(const std::filesystem::path& file);

}  // namespace softamp::files
