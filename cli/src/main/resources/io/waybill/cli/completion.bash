
# Names of the home, read from its files, so that no Java is started: workers, operations, bundles.

# Prints the word after an option of the line.
function _waybill_option() {
  local i
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [ "${COMP_WORDS[i]}" = "$1" ]; then
      if [ "${COMP_WORDS[i + 1]}" = "=" ]; then i=$((i + 1)); fi
      printf '%s' "${COMP_WORDS[i + 1]}"
      return
    fi
  done
}

function _waybill_home() {
  local home
  home=$(_waybill_option --home)
  printf '%s' "${home:-${WAYBILL_HOME:-${XDG_STATE_HOME:-$HOME/.local/state}/waybill/home}}"
}

# Prints the directory of a worker.
function _waybill_directory() {
  local file
  for file in "$(_waybill_home)"/workers/*-"$1"/worker.json; do
    file=${file%/worker.json}
    case ${file##*/} in [0-9]*-"$1") [ -r "$file/worker.json" ] && printf '%s' "$file" && return ;; esac
  done
}

# Prints the names of workers: all of them, or those that have not left.
function _waybill_workers() {
  local file name
  for file in "$(_waybill_home)"/workers/*/worker.json; do
    [ -r "$file" ] || continue
    if [ "$1" = present ] && grep -q '"state":"LEFT"' "$file"; then continue; fi
    name=${file%/worker.json}
    name=${name##*/}
    printf '%s\n' "${name#*-}"
  done
}

# Prints the operations and functions that a worker serves, by the names that a call takes.
function _waybill_operations() {
  local directory
  directory=$(_waybill_directory "$1")
  [ -n "$directory" ] || return
  sed -n 's/.*"serves":\[\([^]]*\)\].*/\1/p' "$directory/worker.json" | tr ',' '\n' | tr -d '"' |
    sed -e 's/^function://' -e '/^control:/d' -e '/^type:/d' -e '/[*]/d' -e '/^[A-Z0-9_]*$/d'
}

# Prints the bundles that were installed in a node.
function _waybill_bundles() {
  local directory file
  directory=$(_waybill_directory "$1")
  [ -n "$directory" ] || return
  for file in "$directory"/osgi/installed/*.jar; do
    [ -e "$file" ] || continue
    file=${file##*/}
    printf '%s\n' "${file%.jar}"
  done
}

# Prints what may stand at the cursor, when it is a name of the home.
function _waybill_names() {
  local previous=${COMP_WORDS[COMP_CWORD - 1]} which=present
  if [ "$previous" = "=" ]; then previous=${COMP_WORDS[COMP_CWORD - 2]}; fi
  case ${COMP_WORDS[1]} in journal | replay) which=all ;; esac
  case "${COMP_WORDS[1]} $previous" in
    "workers remove")
      _waybill_workers all
      return
      ;;
  esac
  case $previous in
    --to | --from | --node | --worker | stop | restart | reload | forget) [ "${COMP_WORDS[1]}" = bundle ] && [ "$previous" != --node ] || {
      _waybill_workers $which
      return
    } ;;
    --*) return ;;
  esac
  case ${COMP_WORDS[1]} in
    call) _waybill_operations "$(_waybill_option --to)" ;;
    operations) _waybill_operations "$(_waybill_option --worker)" ;;
    bundle)
      case ${COMP_WORDS[2]} in start | stop | uninstall) _waybill_bundles "$(_waybill_option --node)" ;; esac
      ;;
  esac
}

function _waybill_complete() {
  local word=${COMP_WORDS[COMP_CWORD]} name
  [ "$word" = "=" ] && word=
  COMPREPLY=()
  case $word in
    -*) ;;
    *)
      # not by compgen -W, which would expand what a file says
      while IFS= read -r name || [ -n "$name" ]; do
        case $name in "$word"*) COMPREPLY+=("$name") ;; esac
      done < <(_waybill_names)
      ;;
  esac
  if [ ${#COMPREPLY[@]} -eq 0 ]; then
    _complete_waybill
  elif type __ltrim_colon_completions > /dev/null 2>&1; then
    __ltrim_colon_completions "$word"
  fi
}

complete -F _waybill_complete -o default waybill waybill.sh waybill.bash
