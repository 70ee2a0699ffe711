//! How much memory this process may count on.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// Bytes of memory of the machine, or of the control group that this process is in, if that may use less. Asked once.
pub fn memory_bytes() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let group_limit = group_limit(&groups, |path| fs::read_to_string(path).ok());
        machine_bytes().min(group_limit.unwrap_or(u64::MAX))
    })
}

#[cfg(all(target_os = "linux", not(miri)))]
fn machine_bytes() -> u64 {
    let system = rustix::system::sysinfo();
    system.totalram as u64 * u64::from(system.mem_unit)
}

/// Without a portable way to ask, or for an interpreter, a modest machine.
#[cfg(any(not(target_os = "linux"), miri))]
fn machine_bytes() -> u64 {
    8 << 30
}

/// The lowest limit of a process's control group and those around it. `groups` is its `/proc/self/cgroup`.
fn group_limit(groups: &str, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let mut lowest = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let group = Path::new(root).join(group.trim_start_matches('/'));
        let around = group.ancestors().take_while(|directory| directory.starts_with(root));
        // "max" stands for no limit.
        let limits = around.filter_map(|directory| read(&directory.join(file))?.trim().parse().ok());
        lowest = limits.chain(lowest).min();
    }
    lowest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_limit_of_a_group_and_those_around_it_counts() {
        let limit = |groups: &str, files: &[(&str, &str)]| {
            group_limit(groups, |path| {
                let found = files.iter().find(|(name, _)| Path::new(name) == path);
                found.map(|(_, text)| (*text).to_owned())
            })
        };
        let own = ("/sys/fs/cgroup/a/b/memory.max", "500\n");
        let around = ("/sys/fs/cgroup/a/memory.max", "300\n");
        let unlimited = ("/sys/fs/cgroup/memory.max", "max\n");
        assert_eq!(limit("0::/a/b\n", &[own, unlimited]), Some(500));
        assert_eq!(limit("0::/a/b\n", &[own, around, unlimited]), Some(300));
        assert_eq!(limit("0::/\n", &[unlimited]), None);
        let old = ("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(limit("3:cpu:/x\n2:memory:/x\n0::/a/b\n", &[old, own]), Some(500));
        assert_eq!(limit("nonsense\n", &[own]), None);
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(memory_bytes() >= 16 << 20);
    }
}
