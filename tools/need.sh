#!/bin/sh
# need.sh THING[=PACKAGE]...: each THING is a command, a file, or pc:MODULE of pkg-config. Missing ones are installed by apt-get when run as root;
# otherwise the line to type is printed and the script fails.
missing=
for item in "$@"; do
  thing=${item%%=*}
  package=${item#*=}
  case $thing in
    pc:*) pkg-config --exists "${thing#pc:}" 2>/dev/null || missing="$missing $package" ;;
    /*) [ -e "$thing" ] || missing="$missing $package" ;;
    *) command -v "$thing" >/dev/null 2>&1 || missing="$missing $package" ;;
  esac
done
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing:$missing"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >/dev/null 2>&1
  # shellcheck disable=SC2086
  apt-get install -y -qq --no-install-recommends $missing libc6-dev >/dev/null && exit 0
fi
echo "missing packages; type: sudo apt-get install -y$missing" >&2
exit 1
