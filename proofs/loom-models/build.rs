//! Sets `cfg(model_checked)` for this crate alone: the engine's files, compiled here, have their least sizes then. In
//! `RUSTFLAGS` it would have everything built anew.

fn main() {
    println!("cargo::rustc-cfg=model_checked");
    // Features of the engine: here they are off.
    println!("cargo::rustc-check-cfg=cfg(feature, values(\"metrics\", \"planted-faults\"))");
    println!("cargo::rerun-if-changed=build.rs");
}
