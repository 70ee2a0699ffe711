//! Names the shared library as programs look for it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    match system.as_str() {
        "linux" | "freebsd" | "android" => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libfulgurite.so.1"),
        "macos" => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libfulgurite.1.dylib"),
        _ => {}
    }
}
