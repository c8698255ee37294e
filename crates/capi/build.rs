//! The name by which programs find libssdlab at run time: that of its interface, which may change with every 0.x.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let of = |name: &str| var(name).unwrap_or_default();
    // Linkers of other systems have other words for it.
    if of("CARGO_CFG_TARGET_OS") == "linux" {
        let (major, minor) = (of("CARGO_PKG_VERSION_MAJOR"), of("CARGO_PKG_VERSION_MINOR"));
        let interface = if major == "0" { format!("0.{minor}") } else { major };
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libssdlab.so.{interface}");
    }
}
