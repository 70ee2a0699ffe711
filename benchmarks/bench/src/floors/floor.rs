//! The floors: what each is called, which group it belongs to, and in which unit it is.

/// Floors that are measured beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Loads whose address is what the load before them has read.
    Dependent,
    /// Several such chains at once.
    Overlapped,
    /// Reading and writing memory from one end to the other.
    Bandwidth,
    /// Touching memory that has no page table entry yet.
    Faults,
    /// Writing to files in memory.
    PageCache,
    /// Waiting for the disk.
    Disk,
    /// What the kernel backs by huge pages.
    HugePages,
    /// Calls of the system, and what threads have to do with each other.
    Calls,
}

impl Group {
    /// All of them, in the order in which they are measured.
    pub const ALL: [Self; 8] = [
        Self::Dependent,
        Self::Overlapped,
        Self::Bandwidth,
        Self::Faults,
        Self::PageCache,
        Self::Disk,
        Self::HugePages,
        Self::Calls,
    ];

    /// Its name, which means all of its floors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dependent => "dependent",
            Self::Overlapped => "overlapped",
            Self::Bandwidth => "bandwidth",
            Self::Faults => "faults",
            Self::PageCache => "page_cache",
            Self::Disk => "disk",
            Self::HugePages => "huge_pages",
            Self::Calls => "calls",
        }
    }
}

/// What no engine on this machine can do better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floor {
    /// Dependent loads from an array in the second level of cache, mapped by small pages.
    DependentL2,
    /// The same, mapped by huge pages.
    DependentL2Huge,
    /// Dependent loads from an array in the third level of cache, mapped by small pages.
    DependentL3,
    /// The same, mapped by huge pages.
    DependentL3Huge,
    /// Dependent loads from an array in memory, mapped by small pages.
    DependentMemory,
    /// The same, mapped by huge pages.
    DependentMemoryHuge,
    /// Loads of 8 chains from an array in memory, mapped by small pages.
    Overlapped8,
    /// The same, mapped by huge pages.
    Overlapped8Huge,
    /// Loads of 16 chains from an array in memory, mapped by small pages.
    Overlapped16,
    /// The same, mapped by huge pages.
    Overlapped16Huge,
    /// Reading memory in order.
    Read1,
    /// The same by two threads together.
    Read2,
    /// Filling memory in order.
    Write1,
    /// The same by two threads together.
    Write2,
    /// The first store to a small page.
    FirstTouch,
    /// The first store to a huge page.
    FirstTouchHuge,
    /// The first load of what is in the page cache through a map.
    MapRead,
    /// A call that overwrites 4 KiB of a file in the page cache.
    Write4K,
    /// A call that overwrites 64 KiB of one.
    Write64K,
    /// Stores through a map over 4 KiB of one.
    Store4K,
    /// Median time of an `fdatasync` after 4 KiB were overwritten.
    FdatasyncP50,
    /// 99th percentile of the same.
    FdatasyncP99,
    /// How often a second that can be done.
    FdatasyncRate,
    /// Writing a new file in order, with an `fdatasync` after each 32 MiB.
    DiskWrite,
    /// Reading 4 KiB anywhere in a file that is not in the page cache.
    DiskRead4K,
    /// Share of memory that huge pages map where they are asked for.
    HugeAnonymous,
    /// Share of a mapped file that huge pages map.
    HugeFile,
    /// A call of the system that does next to nothing.
    SystemCall,
    /// A reading of the clock.
    Clock,
    /// An addition to a number that two threads add to.
    SharedAdd,
    /// Handing a line of memory from one thread to another.
    HandOver,
    /// Waking up a thread that sleeps.
    WakeUp,
}

impl Floor {
    /// All of them, in the order of their groups.
    pub const ALL: [Self; 32] = [
        Self::DependentL2,
        Self::DependentL2Huge,
        Self::DependentL3,
        Self::DependentL3Huge,
        Self::DependentMemory,
        Self::DependentMemoryHuge,
        Self::Overlapped8,
        Self::Overlapped8Huge,
        Self::Overlapped16,
        Self::Overlapped16Huge,
        Self::Read1,
        Self::Read2,
        Self::Write1,
        Self::Write2,
        Self::FirstTouch,
        Self::FirstTouchHuge,
        Self::MapRead,
        Self::Write4K,
        Self::Write64K,
        Self::Store4K,
        Self::FdatasyncP50,
        Self::FdatasyncP99,
        Self::FdatasyncRate,
        Self::DiskWrite,
        Self::DiskRead4K,
        Self::HugeAnonymous,
        Self::HugeFile,
        Self::SystemCall,
        Self::Clock,
        Self::SharedAdd,
        Self::HandOver,
        Self::WakeUp,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        self.description().0
    }

    /// Its group.
    pub fn group(self) -> Group {
        self.description().1
    }

    /// Its unit.
    pub fn unit(self) -> &'static str {
        self.description().2
    }

    /// The floors that a name means: one, or those of a group.
    pub fn named(name: &str) -> Option<Vec<Self>> {
        let of = |floor: &Self| floor.name() == name || floor.group().name() == name;
        let floors: Vec<Self> = Self::ALL.into_iter().filter(of).collect();
        (!floors.is_empty()).then_some(floors)
    }

    /// Name, group and unit.
    fn description(self) -> (&'static str, Group, &'static str) {
        use Group::{Bandwidth, Calls, Dependent, Disk, Faults, HugePages, Overlapped, PageCache};
        match self {
            Self::DependentL2 => ("dependent_l2", Dependent, NANOSECONDS),
            Self::DependentL2Huge => ("dependent_l2_huge", Dependent, NANOSECONDS),
            Self::DependentL3 => ("dependent_l3", Dependent, NANOSECONDS),
            Self::DependentL3Huge => ("dependent_l3_huge", Dependent, NANOSECONDS),
            Self::DependentMemory => ("dependent_memory", Dependent, NANOSECONDS),
            Self::DependentMemoryHuge => ("dependent_memory_huge", Dependent, NANOSECONDS),
            Self::Overlapped8 => ("overlapped_8", Overlapped, NANOSECONDS),
            Self::Overlapped8Huge => ("overlapped_8_huge", Overlapped, NANOSECONDS),
            Self::Overlapped16 => ("overlapped_16", Overlapped, NANOSECONDS),
            Self::Overlapped16Huge => ("overlapped_16_huge", Overlapped, NANOSECONDS),
            Self::Read1 => ("read_1", Bandwidth, "GB/s"),
            Self::Read2 => ("read_2", Bandwidth, "GB/s"),
            Self::Write1 => ("write_1", Bandwidth, "GB/s"),
            Self::Write2 => ("write_2", Bandwidth, "GB/s"),
            Self::FirstTouch => ("first_touch", Faults, NANOSECONDS),
            Self::FirstTouchHuge => ("first_touch_huge", Faults, NANOSECONDS),
            Self::MapRead => ("map_read", Faults, NANOSECONDS),
            Self::Write4K => ("write_4k", PageCache, NANOSECONDS),
            Self::Write64K => ("write_64k", PageCache, NANOSECONDS),
            Self::Store4K => ("store_4k", PageCache, NANOSECONDS),
            Self::FdatasyncP50 => ("fdatasync_p50", Disk, NANOSECONDS),
            Self::FdatasyncP99 => ("fdatasync_p99", Disk, NANOSECONDS),
            Self::FdatasyncRate => ("fdatasync_rate", Disk, "a second"),
            Self::DiskWrite => ("disk_write", Disk, "GB/s"),
            Self::DiskRead4K => ("disk_read_4k", Disk, NANOSECONDS),
            Self::HugeAnonymous => ("huge_anonymous", HugePages, "%"),
            Self::HugeFile => ("huge_file", HugePages, "%"),
            Self::SystemCall => ("system_call", Calls, NANOSECONDS),
            Self::Clock => ("clock", Calls, NANOSECONDS),
            Self::SharedAdd => ("shared_add", Calls, NANOSECONDS),
            Self::HandOver => ("hand_over", Calls, NANOSECONDS),
            Self::WakeUp => ("wake_up", Calls, NANOSECONDS),
        }
    }
}

const NANOSECONDS: &str = "ns";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_one_floor_or_of_one_group() {
        for (place, floor) in Floor::ALL.into_iter().enumerate() {
            assert_eq!(Floor::named(floor.name()), Some(vec![floor]));
            assert!(Group::ALL.iter().all(|group| group.name() != floor.name()), "{}", floor.name());
            assert_eq!(Floor::ALL.iter().position(|other| *other == floor), Some(place));
        }
        for group in Group::ALL {
            let floors = Floor::named(group.name()).unwrap();
            assert!(floors.len() > 1 && floors.iter().all(|floor| floor.group() == group), "{floors:?}");
        }
        assert_eq!(Floor::named("memory"), None);
    }

    #[test]
    fn floors_stand_in_the_order_of_their_groups() {
        let place = |floor: &Floor| Group::ALL.iter().position(|group| *group == floor.group());
        assert!(Floor::ALL.is_sorted_by_key(place));
    }
}
