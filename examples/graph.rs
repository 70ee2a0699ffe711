//! Shortest paths over the dependencies of packages, with a checkpoint of the graph in between.
//!
//! The argument is a file in the format of Debian's `Packages`, as `apt-cache dumpavail` prints it: the whole index has
//! some 60,000 packages. Without one, a few packages stand for it. The paths from 100 packages, or from all if there
//! are fewer, are compared with those in memory.
//!
//! ```sh
//! apt-cache dumpavail > packages.txt
//! cargo run --release --package fulgurite-examples --bin graph packages.txt
//! ```

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::error::Error;
use std::time::Duration;

use fulgurite::{Database, Read};
use fulgurite_graph::{Checkpoints, DirectoryStorage, Edge, EdgeQuery, Graph, GraphOptions};

/// Packages, the bytes that they take when they are installed, and what they depend on, by the kind of the dependency.
type Packages = Graph<String, u64, [u8; 0]>;
type Relations = Vec<Edge<String, [u8; 0]>>;

const SAMPLE: &str = "\
Package: editor
Installed-Size: 900
Depends: libc, terminal (>= 2) | console
Recommends: spelling

Package: terminal
Installed-Size: 300
Depends: libc, fonts

Package: spelling
Installed-Size: 700
Depends: dictionary

Package: dictionary
Installed-Size: 5000

Package: fonts
Installed-Size: 1200
Depends: dictionary

Package: libc
Installed-Size: 3000
";

/// The vertices and edges of a text.
fn parse(text: &str) -> (BTreeMap<String, u64>, Relations) {
    let (mut vertices, mut edges) = (BTreeMap::new(), Vec::new());
    let mut package = String::new();
    for line in text.lines() {
        let Some((field, value)) = line.split_once(": ") else { continue };
        match field {
            "Package" => {
                package = value.to_owned();
                vertices.insert(package.clone(), 0);
            }
            "Installed-Size" => {
                vertices.insert(package.clone(), value.parse().unwrap_or(0));
            }
            "Depends" | "Pre-Depends" | "Recommends" => {
                for one in value.split([',', '|']) {
                    let name = one.trim().split([' ', ':']).next().unwrap_or_default().to_owned();
                    edges.push(Edge::out(package.clone(), name, []).with_label(field));
                }
            }
            _ => {}
        }
    }
    (vertices, edges)
}

/// The number of steps from a package to each that it reaches.
fn distances(packages: &Packages, txn: &impl Read, from: &str) -> fulgurite::Result<BTreeMap<String, u32>> {
    let depends = EdgeQuery::new().label("Depends").label("Pre-Depends");
    let mut distances = BTreeMap::from([(from.to_owned(), 0)]);
    let mut queue = VecDeque::from([(from.to_owned(), 0)]);
    while let Some((package, steps)) = queue.pop_front() {
        for target in packages.targets(txn, package.as_str(), &depends)? {
            let target = target?;
            if !distances.contains_key(&target) {
                distances.insert(target.clone(), steps + 1);
                queue.push_back((target, steps + 1));
            }
        }
    }
    Ok(distances)
}

/// What each package depends on, in memory.
fn targets_in_memory(edges: &[Edge<String, [u8; 0]>]) -> HashMap<&str, Vec<&str>> {
    let mut targets: HashMap<&str, Vec<&str>> = HashMap::new();
    for edge in edges.iter().filter(|edge| edge.label != "Recommends") {
        targets.entry(&edge.source).or_default().push(&edge.target);
    }
    targets
}

/// As [`distances`], but from the dependencies in memory.
fn distances_in_memory(targets: &HashMap<&str, Vec<&str>>, from: &str) -> BTreeMap<String, u32> {
    let mut distances = BTreeMap::from([(from.to_owned(), 0)]);
    let mut queue = VecDeque::from([(from, 0)]);
    while let Some((package, steps)) = queue.pop_front() {
        for &target in targets.get(package).into_iter().flatten() {
            if !distances.contains_key(target) {
                distances.insert(target.to_owned(), steps + 1);
                queue.push_back((target, steps + 1));
            }
        }
    }
    distances
}

fn main() -> Result<(), Box<dyn Error>> {
    let text = match std::env::args().nth(1) {
        Some(path) => std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?,
        None => SAMPLE.to_owned(),
    };
    let (vertices, edges) = parse(&text);
    let directory = tempfile::tempdir()?;
    let options = Database::options().create(true).keep_log(64 << 20);
    let db = options.clone().open(directory.path().join("packages.ful"))?;
    let packages: Packages = Graph::open(&db, "packages", GraphOptions::new().labels(true))?;
    packages.bulk_load(&db, vertices.clone(), edges.clone(), Duration::from_secs(10))?;
    println!("{} packages, {} relations", vertices.len(), edges.len());

    // The graph goes on in another process, on another machine.
    let mut checkpoints = Checkpoints::new(DirectoryStorage::new(directory.path().join("checkpoints")));
    checkpoints.create(&db, 1)?;
    db.close()?;
    let db = checkpoints.restore(1, directory.path().join("restored.ful"), options)?;
    let packages: Packages = Graph::open(&db, "packages", GraphOptions::new().labels(true))?;

    let snapshot = db.read()?;
    let mut farthest = ("".to_owned(), BTreeMap::new());
    let in_memory = targets_in_memory(&edges);
    let (mut sources, mut compared) = (0, 0);
    for from in vertices.keys().step_by(vertices.len().div_ceil(100)) {
        let found = distances(&packages, &snapshot, from)?;
        if found != distances_in_memory(&in_memory, from) {
            return Err(format!("{from}: the paths differ from those in memory").into());
        }
        sources += 1;
        compared += found.len();
        if found.values().max() > farthest.1.values().max() {
            farthest = (from.clone(), found);
        }
    }
    let (from, found) = farthest;
    let (to, steps) = found.iter().max_by_key(|(_, steps)| **steps).ok_or("there are no packages")?;
    println!("{from} reaches {} packages, and {to} in {steps} steps", found.len() - 1);
    println!("{compared} distances from {sources} packages are the same as in memory");
    drop(snapshot);
    db.close()?;
    Ok(())
}
