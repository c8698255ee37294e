#!/bin/sh
# Puts the built library (FROM), its header and its pkg-config file where a compiler finds them: install.sh FROM PREFIX
set -eu
from=$1
prefix=$2
here=$(dirname "$0")
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$here/../../Cargo.toml")
install -d "$prefix/lib/pkgconfig" "$prefix/include"
install -m 644 "$from/libssdlab.a" "$prefix/lib"
# Programs are linked with the name without a number, and then look for that of the interface (build.rs).
interface=$(readelf -d "$from/libssdlab.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
# Symbols carry the version of the interface. rustc has a version script of its own, beside which linkers take no second one:
# so the library is linked from its archive.
symbols=$(mktemp)
trap 'rm -f "$symbols"' EXIT
echo "SSDLAB_${interface#libssdlab.so.} { global: ssdlab_*; local: *; };" > "$symbols"
${CC:-cc} -shared -o "$prefix/lib/libssdlab.so.$version" -Wl,-soname,"$interface" -Wl,--version-script="$symbols" -Wl,--gc-sections \
	-Wl,--whole-archive "$from/libssdlab.a" -Wl,--no-whole-archive \
	$(sed -n 's/^Libs.private: //p' "$here/ssdlab.pc.in")
# What the standard library has for debuggers is left out, and the section by which code that is not optimised names
# scripts for gdb.
strip --strip-unneeded --remove-section=.debug_gdb_scripts "$prefix/lib/libssdlab.so.$version"
strip --strip-debug --remove-section=.debug_gdb_scripts "$prefix/lib/libssdlab.a"
ln -sf "libssdlab.so.$version" "$prefix/lib/$interface"
ln -sf "$interface" "$prefix/lib/libssdlab.so"
install -m 644 "$here/include/ssdlab.h" "$prefix/include"
sed "s|@prefix@|$(cd "$prefix" && pwd)|; s|@version@|$version|" "$here/ssdlab.pc.in" > "$prefix/lib/pkgconfig/ssdlab.pc"
