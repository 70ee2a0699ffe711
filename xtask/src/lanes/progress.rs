//! How far a program has come, by the lines that it prints: that a build is finished, and the result of each program or
//! class of tests that has ended. Lines of cargo, of Rust's programs of tests and of Maven are understood.

/// Reads the lines of one program in their order.
#[derive(Debug, Default)]
pub struct Progress {
    /// The tests that run now, as cargo named them.
    running: String,
}

impl Progress {
    /// What the next line says about the progress, in one line; `None` if it says nothing about it.
    pub fn read(&mut self, line: &str) -> Option<String> {
        let line = line.trim();
        if let Some(program) = line.strip_prefix("Running ") {
            self.running = test_program(program);
        } else if line.starts_with("Doc-tests ") {
            line.clone_into(&mut self.running);
        } else if let Some(result) = line.strip_prefix("test result: ") {
            return Some(format!("{}: {}", self.running, without_zeros(result)));
        }
        let is_class_of_java = line.contains("] Tests run: ") && line.contains(" -- in ");
        (is_class_of_java || line.starts_with("Finished ")).then(|| line.to_owned())
    }
}

/// The name of a program of tests and its source, from `SOURCE (target/debug/deps/NAME-HASH)`.
fn test_program(named: &str) -> String {
    let parts = named.trim_end_matches(')').split_once(" (");
    let Some((source, path)) = parts else { return named.to_owned() };
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let name = file.rsplit_once('-').map_or(file, |(name, _)| name);
    format!("{name} ({source})")
}

/// A result without its counts that are zero.
fn without_zeros(result: &str) -> String {
    result.split("; ").filter(|part| !part.starts_with("0 ")).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_build_and_of_each_program_of_tests_is_progress() {
        let output = "   Compiling fulgurite v0.1.0\n    Finished `test` profile in 3m 05s\n\
                      \x20    Running unittests src/lib.rs (target/debug/deps/fulgurite-0f3a9)\n\nrunning 3 tests\n\
                      test format::a ... ok\n\
                      test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s\n\n\
                      \x20    Running tests/core.rs (target\\debug\\deps\\core-77.exe)\n\
                      test result: FAILED. 1 passed; 2 failed; 0 ignored; finished in 4.00s\n\
                      \x20  Doc-tests fulgurite_keys\ntest result: ok. 0 passed; 0 failed; finished in 0.00s\n\
                      [INFO] Tests run: 2, Failures: 0, Time elapsed: 1.2 s -- in org.fulgurite.DatabaseTest\n\
                      [INFO] Tests run: 2, Failures: 0\n";
        let mut progress = Progress::default();
        let lines: Vec<String> = output.lines().filter_map(|line| progress.read(line)).collect();
        let expected = [
            "Finished `test` profile in 3m 05s",
            "fulgurite (unittests src/lib.rs): ok. 3 passed; finished in 0.10s",
            "core (tests/core.rs): FAILED. 1 passed; 2 failed; finished in 4.00s",
            "Doc-tests fulgurite_keys: ok. 0 passed; finished in 0.00s",
            "[INFO] Tests run: 2, Failures: 0, Time elapsed: 1.2 s -- in org.fulgurite.DatabaseTest",
        ];
        assert_eq!(lines, expected);
    }
}
