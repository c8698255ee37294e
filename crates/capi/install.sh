#!/bin/sh
# Puts the built library (FROM), its header and its pkg-config file where a compiler finds them: install.sh FROM PREFIX
set -eu
from=$1
prefix=$2
here=$(dirname "$0")
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$here/../../Cargo.toml")
install -d "$prefix/lib/pkgconfig" "$prefix/include"
install -m 755 "$from/libssdlab.so" "$prefix/lib/libssdlab.so.$version"
install -m 644 "$from/libssdlab.a" "$prefix/lib"
# Five sixths of them are for debuggers.
strip --strip-debug "$prefix/lib/libssdlab.so.$version" "$prefix/lib/libssdlab.a"
# Programs are linked with the name without a number, and then look for that of the interface (build.rs).
interface=$(readelf -d "$prefix/lib/libssdlab.so.$version" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
ln -sf "libssdlab.so.$version" "$prefix/lib/$interface"
ln -sf "$interface" "$prefix/lib/libssdlab.so"
install -m 644 "$here/include/ssdlab.h" "$prefix/include"
sed "s|@prefix@|$(cd "$prefix" && pwd)|; s|@version@|$version|" "$here/ssdlab.pc.in" > "$prefix/lib/pkgconfig/ssdlab.pc"
