#!/bin/sh
# uninstall.sh BUILD: removes the files that BUILD installed last, and its own folders once they are empty. DESTDIR
# counts as it did when they were installed.
list=$1/install_manifest.txt
[ -f "$list" ] || { echo "nothing was installed from $1" >&2; exit 1; }
while IFS= read -r file || [ -n "$file" ]; do
  rm -f "$DESTDIR$file" || exit 1
  case $(dirname "$file") in
    */onyx | */nanothread) rmdir "$DESTDIR$(dirname "$file")" 2>/dev/null ;;
  esac
done <"$list"
rm -f "$list"
