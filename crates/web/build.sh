#!/bin/sh
# Builds the page into target/page: the module, compiled for WebAssembly, and the files of crates/web/page. Any file server serves it.
set -eu
cd "$(dirname "$0")/../.."
target=wasm32-unknown-unknown
# The standard library of the pinned toolchain (rust-toolchain.toml) for that target.
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
    rustup target add "$target" || {
        echo "error: Rust's target $target is not installed, and rustup could not install it" >&2
        echo "  help: rustup target add $target, where there is a network" >&2
        exit 1
    }
fi
${CARGO:-cargo} build --quiet --locked --package ssdlab-web --profile wasm --target "$target"
rm -rf target/page
mkdir -p target/page
cp crates/web/page/* "target/$target/wasm/lab.wasm" target/page/
# What a reader loads, as servers send it.
packed=$(for file in target/page/*; do gzip -9 -c "$file"; done | wc -c)
most=1200000
echo "target/page: $packed bytes gzipped (at most $most); serve it with: python3 -m http.server -d target/page"
[ "$packed" -le "$most" ] || { echo "error: the page is larger than 1.2 MB gzipped" >&2; exit 1; }
