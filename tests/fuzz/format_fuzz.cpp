// libFuzzer target: the word of --format. Any text names a format of one kind, or is refused with a message. The text
// that a format of blocks is written as reads back as the same.
#include <stdexcept>
#include <string>

#include "softamp/names/block_format_names.h"
#include "src/program/format_choice.h"
#include "src/program/usage.h"
#include "tests/fuzz/require.h"

using namespace softamp;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const program::FormatChoice choice = program::format_choice_from_name(text);
    if (choice.p3109) {
      require(choice.p3109->valid(), "a format of P3109's is valid");
      require(program::format_choice_from_name(program::p3109_name(*choice.p3109)).p3109 == choice.p3109,
              "its name reads back");
    } else if (choice.is_number()) {
      require(choice.number.valid() || choice.number == kBinary64, "a format of numbers is valid");
    }
  } catch (const program::UsageError& e) {
    require(e.what()[0] != '\0', "a refusal says why");
  } catch (const std::invalid_argument& e) {
    require(e.what()[0] != '\0', "a refusal says why");
  }
  try {
    const std::string written = block_format_text(parse_block_format(text));
    require(block_format_text(parse_block_format(written)) == written, "what is written reads back");
  } catch (const std::invalid_argument& e) {
    require(e.what()[0] != '\0', "a refusal says why");
  }
  return 0;
}
