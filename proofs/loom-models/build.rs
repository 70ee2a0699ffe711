//! Sets `cfg(model_checked)` for this crate only: the engine's files, compiled here, then have their smallest sizes.
//! Setting it in `RUSTFLAGS` would rebuild everything.

fn main() {
    println!("cargo::rustc-cfg=model_checked");
    // Features of the engine: here they are off.
    println!("cargo::rustc-check-cfg=cfg(feature, values(\"metrics\", \"planted-faults\"))");
    println!("cargo::rerun-if-changed=build.rs");
}
