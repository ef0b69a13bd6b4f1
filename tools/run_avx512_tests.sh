#!/bin/sh
# run_avx512_tests.sh BUILD [FOLDER|TEST]...: ONNX test cases (default: the node tests in SHARED, ../shared) and test
# programs of BUILD (kern.compressed) on a processor with AVX-512 that Bochs emulates, under Debian's kernel. No VNNI, no
# AMX. ONLY=TEXT: only test functions with that in their name. Some 200 times slower than a processor; two minutes to
# boot. The last line counts what the programs printed.
build=$1
shift
shared=${SHARED:-../shared}
[ $# -gt 0 ] || set -- "$shared/onnx-tests/node"
work=$(mktemp -d)
trap 'pkill -9 -f "$work/bochsrc"; rm -rf "$work"' EXIT # Bochs with its debugger outlives other signals
trap 'exit 1' INT TERM
fail() { echo "$*" >&2; exit 1; }

kernel() { # puts Debian's kernel for virtual machines at $work/iso/vmlinuz
  package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -1)
  (cd "$work" && apt-get download "$package" >/dev/null 2>&1 && dpkg -x "$package"_*.deb kernel) ||
    fail "no package linux-image-cloud-amd64"
  cp "$work"/kernel/boot/vmlinuz-* "$work/iso/vmlinuz"
}

add() { # add PROGRAM: strips it, and copies it with its libraries
  strip -o "$work/root/t/${1##*/}" "$1" || fail "no program $1"
  ldd "$1" | awk '{for (i = 1; i <= NF; i++) if ($i ~ /^\//) print $i}' | while read -r library; do
    mkdir -p "$work/root/${library%/*}" && cp -L "$library" "$work/root/$library"
  done
}

mkdir -p "$work/iso/isolinux" "$work/root/bin" "$work/root/proc" "$work/root/dev" "$work/root/t" "$work/root/cases"
cp /bin/busybox "$work/root/bin/"
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$work/iso/isolinux/"
kernel
add "$build/bin/onyx"
cat >"$work/root/init" <<'X'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox grep -q avx512f /proc/cpuinfo || echo 'FAILED: the kernel does not grant AVX-512'
. /run
echo ALL DONE
/bin/busybox sleep 5 # the serial line is slower than the power switch
/bin/busybox poweroff -f
X
chmod +x "$work/root/init"
for what; do
  if [ -d "$what" ]; then
    cp -rL "$what" "$work/root/cases/${what##*/}"
    echo "/t/onyx test --threads 1 --atol-max 1e-5 /cases/${what##*/}" >>"$work/root/run"
  else
    add "$build/tests/test.$what"
    echo "/t/test.$what" >>"$work/root/run"
  fi
done
if [ -n "$ONLY" ]; then
  ${CC:-cc} -shared -fPIC -o "$work/root/t/only.so" tools/only.c -ldl || fail "tools/only.c cannot be built"
  sed -i "s|^/t/test|ONLY='$ONLY' LD_PRELOAD=/t/only.so &|" "$work/root/run"
fi
# Without XSAVEC: Bochs tells a size for it that the kernel does not believe.
cat >"$work/iso/isolinux/isolinux.cfg" <<'X'
default l
label l
 kernel /vmlinuz
 append initrd=/initrd console=ttyS0 quiet clearcpuid=321,323 mitigations=off nokaslr tsc=reliable lpj=1000000 no_timer_check
X
(cd "$work/root" && find . | cpio -o -H newc --quiet) >"$work/iso/initrd"
xorriso -as mkisofs -quiet -o "$work/boot.iso" -b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot \
  -boot-load-size 4 -boot-info-table "$work/iso" 2>/dev/null || fail "xorriso failed"
cat >"$work/bochsrc" <<X
memory: guest=2048, host=2048
cpu: model=corei7_skylake_x, count=1, ips=100000000
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
ata0-master: type=cdrom, path=$work/boot.iso, status=inserted
boot: cdrom
display_library: term
com1: enabled=1, mode=file, dev=$work/serial
log: $work/log
clock: sync=none
panic: action=fatal
X
echo c >"$work/commands" # Debian's Bochs has its debugger, which waits for this
TERM=xterm script -qec "bochs -q -f $work/bochsrc -rc $work/commands" /dev/null >/dev/null 2>&1 </dev/null &
pid=$!
while kill -0 $pid 2>/dev/null && ! grep -qs 'ALL DONE' "$work/serial"; do sleep 1; done
tr -d '\r' <"$work/serial" | grep -v '^\[ *[0-9]*\.[0-9]*\]'
grep -qs 'ALL DONE' "$work/serial" || fail "the machine stopped"
passed=$(grep -c '^\[       OK \]' "$work/serial")
more=$(sed -n 's/^\([0-9]*\) passed, .*/\1/p' "$work/serial" | paste -sd+ | sed 's/^$/0/')
failed=$(grep -c 'FAILED' "$work/serial")
echo "$((passed + more)) passed, $failed failed"
[ "$failed" = 0 ]
