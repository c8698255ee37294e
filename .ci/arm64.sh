#!/usr/bin/env bash
# Runs a wheel for arm64 under QEMU's user mode, with Debian's Python for arm64: its results must be the golden ones. Nothing is installed.
#   .ci/arm64.sh target/dist/ssdlab-…aarch64.whl
set -euo pipefail
wheel=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
packages=$(realpath "$("$here/.venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')")
mkdir -p "$here/target/arm64" && cd "$here/target/arm64"
mkdir -p lists/partial cache/archives/partial root qemu site
touch status
apt=(-o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Debug::NoLocking=1 -o Dir::State::Lists="$PWD/lists" -o Dir::Cache="$PWD/cache"
    -o Dir::State::status="$PWD/status")
apt-get -qq "${apt[@]}" update
python=$(apt-cache "${apt[@]}" depends python3-minimal | sed -n 's/.*Depends: \(python3[.0-9]*\)-minimal/\1/p' | head -1)
apt-get -qq "${apt[@]}" download libc6 libgcc-s1 zlib1g libexpat1 libssl3 libffi8 libbz2-1.0 liblzma5 libsqlite3-0 libuuid1 libcrypt1 libstdc++6 \
    "$python-minimal" "lib$python-minimal" "lib$python-stdlib"
apt-get -qq download qemu-user
for package in *_arm64.deb; do dpkg-deb -x "$package" root; done
dpkg-deb -x qemu-user_*.deb qemu
(cd site && "$here/.venv/bin/python" -m zipfile -e "$wheel" .)
# What the command line needs, written in Python alone.
for name in click rich pygments markdown_it mdurl; do cp -r "$packages/$name" site/; done
PYTHONHOME=$PWD/root/usr PYTHONPATH=$PWD/site PYTHONDONTWRITEBYTECODE=1 qemu/usr/bin/qemu-aarch64 -L "$PWD/root" "root/usr/bin/$python" "$here/.ci/golden.py"
