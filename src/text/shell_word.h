// Words of a command line as bash, zsh and ksh read them back.
#pragma once

#include <string>
#include <string_view>

namespace softamp {

/// `text` as one word: as it is where no shell would change it, in quotes else; bytes that are no UTF-8, and control
/// characters, as $'\377'.
std::string shell_word(std::string_view text);

}  // namespace softamp
