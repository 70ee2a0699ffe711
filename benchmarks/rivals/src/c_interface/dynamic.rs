//! Libraries of the system that are found when they are first needed: their engines can be measured where they are
//! installed, and the build does not need them.
//!
//! A library that was found stays loaded: its threads may run until the process ends.
#![allow(unsafe_code)] // Foreign function edge.

use libloading::Library;

/// The first of these libraries that is installed.
pub(crate) fn found(names: &[&str]) -> Option<&'static Library> {
    // SAFETY: what these libraries run when they are loaded is the set-up of their own statics.
    let mut candidates = names.iter().filter_map(|name| unsafe { Library::new(*name) }.ok());
    candidates.next().map(|library| &*Box::leak(Box::new(library)))
}

/// The version after `name` in the name of the mapped file; `unknown` if the name has none.
pub(crate) fn version_in_file_name(name: &str) -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    version_in(&maps, name).unwrap_or("unknown").to_owned()
}

fn version_in<'m>(maps: &'m str, name: &str) -> Option<&'m str> {
    let file = maps.lines().find_map(|line| line.rsplit_once('/')?.1.strip_prefix(name))?;
    file.strip_prefix('.').filter(|version| !version.is_empty())
}

/// Declares a structure of functions, each by its field, name after the prefix, parameters and result.
macro_rules! functions {
    (
        $(#[$doc:meta])*
        struct $type:ident;
        $($field:ident: $name:literal ($($parameter:ty),*) $(-> $result:ty)?;)*
    ) => {
        $(#[$doc])*
        struct $type { $($field: unsafe extern "C" fn($($parameter),*) $(-> $result)?,)* }

        impl $type {
            /// Looks the functions up, whose names begin with `prefix`.
            fn find(library: &libloading::Library, prefix: &str) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $(
                        // SAFETY: the type is that of the declaration in the library's header.
                        $field: *unsafe { library.get(format!("{prefix}{}", $name).as_bytes()) }?,
                    )*
                })
            }
        }
    };
}

pub(crate) use functions;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_what_follows_the_name() {
        let maps = "7f00 r-xp 0 fe:00 1 /usr/lib/librocksdb.so.7.8.3\n7f01 r-xp 0 fe:00 2 /usr/lib/libm.so\n";
        assert_eq!(version_in(maps, "librocksdb.so"), Some("7.8.3"));
        assert_eq!(version_in(maps, "libm.so"), None);
        assert_eq!(version_in(maps, "libleveldb.so"), None);
        assert!(found(&["libsurelynosuchlibrary.so"]).is_none());
    }
}
