//! Why an engine that is a feature of the benchmarks is missing where the feature is off.

macro_rules! features {
    ($($function:ident: $feature:literal $reason:literal;)*) => {
        $(
            #[doc = concat!("The feature `", $feature, "` is off.")]
            #[allow(dead_code)] // Each is used where its feature is off.
            pub fn $function() -> Option<String> {
                const REASON: &str = concat!("it was not built in; use `cargo xtask bench`, or the feature `", $feature, "`", $reason);
                Some(REASON.to_owned())
            }
        )*
    };
}

features! {
    bf_tree: "bf-tree" "";
    fjall: "fjall" "";
    libmdbx: "libmdbx" ", where libclang is installed (the package libclang-dev)";
    oxigraph: "oxigraph" ", where libclang is installed (the package libclang-dev)";
    redb: "redb" "";
    sqlite: "sqlite" "";
}
