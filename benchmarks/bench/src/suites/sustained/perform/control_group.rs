//! A control group with a limit of memory, in the second version of Linux' hierarchy, for a process that must have
//! little.
//!
//! It is made below the nearest group, from the own one upwards, that delegates the memory controller and lets this
//! process create groups. Nothing else is changed, except at the root of the hierarchy, where delegation may have to
//! be enabled.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A group of its own, removed when dropped.
#[derive(Debug)]
pub struct ControlGroup {
    path: PathBuf,
}

impl ControlGroup {
    /// Makes a group whose processes together may have so much memory, page cache included, and no swap.
    ///
    /// # Errors
    /// Why there can be none here, and what would help.
    pub fn new(limit_bytes: u64) -> std::result::Result<Self, String> {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let (root, own) = place(&read("/proc/self/mounts"), &read("/proc/self/cgroup"))
            .ok_or("this system has no control groups of version 2")?;
        Self::below(&root, &own, limit_bytes)
    }

    /// The same in a given hierarchy, for a process in its group `own`.
    fn below(root: &Path, own: &Path, limit_bytes: u64) -> std::result::Result<Self, String> {
        let mut refused = None;
        let parents = own.ancestors().take_while(|path| path.starts_with(root));
        for parent in parents.filter(|path| hands_memory_down(path, *path == root)) {
            let path = parent.join(format!("fulgurite-bench-{}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => {
                    let group = Self { path };
                    return group.bound(limit_bytes).map(|()| group).map_err(|error| error.to_string());
                }
                Err(error) => refused = Some(format!("{}: {error}", path.display())),
            }
        }
        let none = "no control group above this process hands the memory controller down; run it as root where version 2 has the \
                    memory controller, or in a scope of systemd's (systemd-run --user --scope)";
        Err(refused.unwrap_or_else(|| none.to_owned()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn bound(&self, limit_bytes: u64) -> Result<()> {
        write(&self.path.join("memory.max"), &limit_bytes.to_string())?;
        // A kernel without swap does not have this file, and needs no limit.
        let swap = self.path.join("memory.swap.max");
        if swap.exists() { write(&swap, "0") } else { Ok(()) }
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // A group that still has processes stays; no one can handle a failure here.
        let _ = fs::remove_dir(&self.path);
    }
}

/// Moves this process into a group. What it has touched before stays where it was.
pub fn enter(group: &Path) -> Result<()> {
    write(&group.join("cgroup.procs"), &std::process::id().to_string())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| Error::io("write", path, error))
}

/// Where the hierarchy is mounted, and the group that this process is in.
fn place(mounts: &str, own: &str) -> Option<(PathBuf, PathBuf)> {
    let mount = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let root =
        mount.filter(|words| words.get(2) == Some(&"cgroup2")).find_map(|words| words.get(1).map(PathBuf::from))?;
    let group = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let own = root.join(group);
    Some((root, own))
}

/// Whether groups below this one can have a bound of memory. At the root it may have to be asked for.
fn hands_memory_down(group: &Path, is_root: bool) -> bool {
    let has_memory = |name: &str| {
        let text = fs::read_to_string(group.join(name)).unwrap_or_default();
        text.split_ascii_whitespace().any(|controller| controller == "memory")
    };
    let control = "cgroup.subtree_control";
    has_memory(control) || is_root && has_memory("cgroup.controllers") && write(&group.join(control), "+memory").is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_found_in_what_the_kernel_tells() {
        let mounts = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
        let (root, own) = place(mounts, "1:cpu:/x\n0::/user.slice/app.scope\n").unwrap();
        assert_eq!(
            (root.to_str(), own.to_str()),
            (Some("/sys/fs/cgroup"), Some("/sys/fs/cgroup/user.slice/app.scope"))
        );
        assert!(place("proc /proc proc rw 0 0\n", "0::/\n").is_none());
        assert!(place(mounts, "1:cpu:/x\n").is_none());
    }

    /// A hierarchy of plain files: the middle group hands memory down, the one that the process is in does not.
    fn hierarchy(controlled: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let own = root.path().join("middle/own");
        fs::create_dir_all(&own).unwrap();
        fs::write(root.path().join("cgroup.controllers"), "cpu\n").unwrap();
        fs::write(root.path().join("middle/cgroup.subtree_control"), controlled).unwrap();
        fs::write(own.join("cgroup.subtree_control"), "cpu\n").unwrap();
        root
    }

    #[test]
    fn the_group_is_made_below_the_nearest_that_hands_memory_down_and_leaves_with_its_owner() {
        let root = hierarchy("cpu memory\n");
        let group = ControlGroup::below(root.path(), &root.path().join("middle/own"), 1 << 20).unwrap();
        assert_eq!(group.path().parent(), Some(&*root.path().join("middle")));
        assert_eq!(fs::read_to_string(group.path().join("memory.max")).unwrap(), "1048576");
        enter(group.path()).unwrap();
        let pid = std::process::id().to_string();
        assert_eq!(fs::read_to_string(group.path().join("cgroup.procs")).unwrap(), pid);
        // The kernel's files go with their directory; these do not.
        fs::remove_file(group.path().join("memory.max")).unwrap();
        fs::remove_file(group.path().join("cgroup.procs")).unwrap();
        let path = group.path().to_owned();
        drop(group);
        assert!(!path.exists());
    }

    #[test]
    fn where_nobody_hands_memory_down_the_reason_says_what_would_help() {
        let root = hierarchy("cpu\n");
        let reason = ControlGroup::below(root.path(), &root.path().join("middle/own"), 1 << 20).unwrap_err();
        assert!(reason.contains("systemd-run"), "{reason}");
    }

    #[test]
    fn at_the_root_memory_is_asked_for() {
        let root = hierarchy("cpu\n");
        fs::write(root.path().join("cgroup.controllers"), "cpu memory\n").unwrap();
        let group = ControlGroup::below(root.path(), root.path(), 1 << 20).unwrap();
        assert_eq!(fs::read_to_string(root.path().join("cgroup.subtree_control")).unwrap(), "+memory");
        fs::remove_file(group.path().join("memory.max")).unwrap();
    }
}
