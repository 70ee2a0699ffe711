//! Names the shared library as programs look for it: by the version of its interface.

/// The file that has the version of the interface.
const VERSIONED: &str = "src/databases.rs";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={VERSIONED}");
    let text = std::fs::read_to_string(VERSIONED).expect("the file is part of the crate");
    let version = text.lines().find_map(|line| line.strip_prefix("pub const FULGURITE_ABI_VERSION: u32 = "));
    let version = version.expect("the file has the version of the interface").trim_end_matches(';');
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    match system.as_str() {
        "linux" | "freebsd" | "android" => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libfulgurite.so.{version}");
        }
        "macos" => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libfulgurite.{version}.dylib");
        }
        _ => {}
    }
}
