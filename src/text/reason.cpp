#include "src/text/reason.h"

#include <filesystem>
#include <ios>
#include <new>
#include <stdexcept>
#include <system_error>
#include <typeinfo>

namespace softamp {

std::string reason_of(const std::exception& e) {
  // Classes of our own that derive from these have words of their own.
  if (typeid(e) == typeid(std::bad_alloc) || typeid(e) == typeid(std::bad_array_new_length) ||
      typeid(e) == typeid(std::length_error))
    return "there is not enough memory";
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&e))
    return (file->path1().empty() ? "" : "'" + file->path1().string() + "': ") + file->code().message();
  if (const auto* stream = dynamic_cast<const std::ios_base::failure*>(&e)) return stream->code().message();
  const std::string what = e.what();
  // "[json.exception.out_of_range.403] key 'step' not found"
  const size_t end = what.find("] ");
  return what.starts_with("[json.exception.") && end != std::string::npos ? what.substr(end + 2) : what;
}

}  // namespace softamp
