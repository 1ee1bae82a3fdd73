# complete.bash SCRIPT LINE: what bash offers at the end of LINE once it has read SCRIPT, one word a line. The words of
# the line are split at blanks and at equals signs, as readline does it with COMP_WORDBREAKS as it is.
source "$1" || exit 1
line=$2
COMP_LINE=$line COMP_POINT=${#line}
COMP_WORDS=()
word=
for ((i = 0; i < ${#line}; i++)); do
  letter=${line:i:1}
  case $letter in
    ' ' | =)
      [ -z "$word" ] || COMP_WORDS+=("$word")
      word=
      [ "$letter" = ' ' ] || COMP_WORDS+=("=")
      ;;
    *) word+=$letter ;;
  esac
done
[ "${line: -1}" = = ] || COMP_WORDS+=("$word")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
specification=$(complete -p softamp) || exit 1
function=${specification#*-F }
"${function%% *}" softamp "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
