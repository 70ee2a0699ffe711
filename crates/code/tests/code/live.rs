//! An index that is read while it is indexed again.

use fulgurite_code::{CodeReader, LiveIndex};
use scip::types::symbol_information::Kind;

use crate::support::{Project, info};

fn files(index: &LiveIndex) -> Vec<String> {
    CodeReader::new(&index.database().unwrap()).unwrap().files().unwrap()
}

#[test]
fn an_index_is_read_as_it_is_now_and_its_old_state_stays() {
    let project = Project::new();
    let names = ["a.rs", "b.rs", "c.rs", "d.rs"];
    let write = |count: usize| {
        let symbols = || vec![info("m/f().", Kind::Function, "f")];
        project.write(&names[..count].iter().map(|name| (*name, "fn «m/f().»f() {}", symbols())).collect::<Vec<_>>());
    };
    write(3);
    project.update();
    let index = LiveIndex::open(project.database()).unwrap();
    assert_eq!(files(&index), names[..3]);
    let before = CodeReader::new(&index.database().unwrap()).unwrap();

    write(4);
    project.update();
    assert_eq!(project.names(), ["code.ful", "code.ful-increment.1", "index.scip", "project"]);
    assert_eq!(files(&index), names);
    write(2);
    project.try_update(true).unwrap();
    assert_eq!(project.names(), ["code.ful", "index.scip", "project"]);
    assert_eq!(files(&index), names[..2]);
    assert_eq!(before.files().unwrap(), names[..3]);

    let away = project.directory.path().join("away");
    std::fs::rename(project.database(), &away).unwrap();
    assert!(index.database().err().unwrap().to_string().contains("no such database"));
    std::fs::rename(&away, project.database()).unwrap();
    assert_eq!(files(&index), names[..2]);
}
