//! Generates the code of both schemas.

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=schema");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let messages = protox::compile(["schema/inventory.proto"], ["schema"])?;
    prost_build::Config::new().out_dir(&out).compile_fds(messages)?;
    let tables = planus_translation::translate_files(&["schema/inventory.fbs"]).ok_or("inventory.fbs is malformed")?;
    Ok(std::fs::write(out.join("inventory_tables.rs"), planus_codegen::generate_rust(&tables, false)?)?)
}
