# zsh -f complete.zsh FOLDER LINE: the line that an interactive zsh makes of LINE and a tab, with FOLDER, which holds
# _softamp, on its fpath. Nothing of the user's is read. The line is run: `softamp` is a function here that prints its
# arguments. Ends with 77 where the system has no pseudo-terminals (a root without /dev/pts).
zmodload zsh/zpty || exit 1
zpty -b shell zsh -f -i || exit 77
zpty -w shell "PS1= RPS1=; fpath=($1 \$fpath); autoload -U compinit; compinit -D -u"
zpty -w shell 'softamp() { print -r -- "R""AN:$*:END"; }; print "READ""Y"'
zpty -r -m shell seen '*READY*' || exit 1
zpty -w shell "$2"$'\t'
zpty -r -m shell seen '*RAN:*:END*' || exit 1
seen=${seen##*RAN:}
print -r -- "softamp ${seen%%:END*}"
zpty -d shell
