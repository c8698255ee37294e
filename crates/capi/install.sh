#!/bin/sh
# Puts the built library (FROM), its header and its pkg-config file where a compiler finds them: install.sh FROM PREFIX
set -eu
from=$1
prefix=$2
here=$(dirname "$0")
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$here/../../Cargo.toml")
install -d "$prefix/lib/pkgconfig" "$prefix/include"
install -m 755 "$from/libssdlab.so" "$prefix/lib"
install -m 644 "$from/libssdlab.a" "$prefix/lib"
install -m 644 "$here/include/ssdlab.h" "$prefix/include"
sed "s|@prefix@|$(cd "$prefix" && pwd)|; s|@version@|$version|" "$here/ssdlab.pc.in" > "$prefix/lib/pkgconfig/ssdlab.pc"
