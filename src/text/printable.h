// Text from outside made safe to print: a name may hold a newline, or a sequence that a terminal obeys.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace softamp::files {

/// Control characters, and bytes that are no UTF-8, as "\n", "\t" or "\x1b"; all else as it is. The result is UTF-8 of
/// characters that XML has, too.
/// keep_lines: newlines stay.
std::string printable(std::string_view text, bool keep_lines = false);

/// The first 80 bytes of a text, cut within no character, as printable() has them; "..." says that there is more.
std::string excerpt(std::string_view text);

/// A JSON document that is printable() with its lines: what a terminal obeys stands in it as "\u009b".
std::string printable_json(std::string_view document);

/// The name of a file as messages quote it: "'a b.npy'".
inline std::string in_quotes(const std::filesystem::path& file) { return "'" + printable(file.string()) + "'"; }

}  // namespace softamp::files
