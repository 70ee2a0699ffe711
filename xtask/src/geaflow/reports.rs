//! Maven's reports of tests: how many tests passed, and whether these are enough.

use std::collections::BTreeMap;
use std::path::Path;

/// How many tests of a class passed, and how many did not.
#[derive(Debug, Default, PartialEq)]
pub struct Count {
    passed: usize,
    others: usize,
}

/// The counts of classes, by their names.
pub type Counts = BTreeMap<String, Count>;

/// Counts the tests of the reports in a directory.
///
/// # Errors
/// What the disk reports.
pub fn read_reports(directory: &Path, counts: &mut Counts) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("TEST-") && name.ends_with(".xml") {
            count(&std::fs::read_to_string(&path)?, counts);
        }
    }
    Ok(())
}

/// Counts the tests of a report. The output of a test follows its result, and is not escaped.
fn count(report: &str, counts: &mut Counts) {
    for case in report.split("<testcase ").skip(1) {
        let class = case.split("classname=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        let class = class.rsplit('.').next().unwrap_or_default();
        let count = counts.entry(class.to_owned()).or_default();
        let result = case.split("<system-").next().unwrap_or_default();
        match ["<failure", "<error", "<skipped"].iter().any(|tag| result.contains(tag)) {
            true => count.others += 1,
            false => count.passed += 1,
        }
    }
}

/// What to print, and whether the tests prove what they should.
pub fn judge(counts: &Counts, wanted: usize) -> (String, Result<(), String>) {
    let (mut text, mut passed, mut others) = (String::new(), 0, 0);
    for (class, count) in counts {
        text.push_str(&format!("{class}: {} passed, {} failed or skipped\n", count.passed, count.others));
        passed += count.passed;
        others += count.others;
    }
    text.push_str(&format!("{passed} of GeaFlow's tests passed, {others} failed or were skipped\n"));
    let judgement = if others > 0 {
        Err(format!("{others} tests failed or were skipped; target/surefire-reports of their modules has the reasons"))
    } else if passed < wanted {
        Err(format!("{passed} tests have run, and not {wanted}; if this version of GeaFlow has fewer, use --tests"))
    } else {
        Ok(())
    };
    (text, judgement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_skipped_and_missing_tests_are_not_passed_ones() {
        let case = |content: &str| {
            format!("<testcase name=\"t\" classname=\"org.a.BTest\" time=\"0.1\"{content}\n<system-out><![CDATA[<error")
        };
        let mut counts = Counts::new();
        count(&format!("<testsuite tests=\"2\">{}{}", case("/>"), case("/>")), &mut counts);
        assert_eq!(counts["BTest"], Count { passed: 2, others: 0 });
        assert!(judge(&counts, 2).1.is_ok());
        assert!(judge(&counts, 3).1.unwrap_err().contains("--tests"));
        for tag in ["><failure message=\"x\"/></testcase>", "><error/></testcase>", "><skipped/></testcase>"] {
            let mut counts = Counts::new();
            count(&format!("<testsuite>{}{}", case("/>"), case(tag)), &mut counts);
            assert_eq!(counts["BTest"], Count { passed: 1, others: 1 }, "{tag}");
            assert!(judge(&counts, 1).1.is_err(), "{tag}");
        }
    }
}
