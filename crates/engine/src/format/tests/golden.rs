//! Bytes that must never change: hash vectors, and the worked examples of `docs/reference/file-format.md`.

use std::sync::LazyLock;

use crate::format::hash::checksum;
use crate::format::{
    BranchBuilder, CatalogRoot, CellKey, CellValue, Child, ExtentEntry, ExtentFlags, ExtentKind, ExtentTablePage,
    ExtentTableRef, FeatureBits, Identity, LeafBuilder, Merging, Meta, MetaError, Op, OverflowRef, PackedBuilder,
    PageSize, StoredRange, StoredRoot, StoredRun, TableDescriptor, ValueAlign, build_filter, filter_passes, seal_page,
    verify_page,
};
use crate::ids::{Birth, ExtentId, PageNumber, PageRef, SegmentNumber, Sequence, TableId};

const DOCUMENT: &str = include_str!("../../../../../docs/reference/file-format.md");
const BIRTH: Birth = Birth(9);

fn identity() -> Identity {
    static IDENTITY: LazyLock<Identity> = LazyLock::new(|| Identity::new(std::array::from_fn(|index| index as u8)));
    *IDENTITY
}

fn at(slot: u32) -> PageRef {
    PageRef { extent: ExtentId(3), slot }
}

/// Compares bytes with the dump under a heading of the document: every line that is not all zero, and no other.
fn assert_documented(heading: &str, bytes: &[u8]) {
    // An interpreter takes longer to look through the document than to make the bytes, which are the same wherever
    // they are made.
    if cfg!(miri) {
        return;
    }
    let lines = bytes.chunks(16).enumerate().filter(|(_, line)| line.iter().any(|&byte| byte != 0));
    let hex = |line: &[u8]| line.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    let expected: Vec<_> = lines.map(|(index, line)| format!("{:04x}  {}", 16 * index, hex(line))).collect();
    let documented: Vec<_> = DOCUMENT
        .split_once(&format!("{heading}\n"))
        .and_then(|(_, rest)| rest.split("```").nth(1))
        .map(|dump| dump.lines().filter_map(|line| line.get(..6 + 47)).map(str::to_owned).collect())
        .unwrap_or_default();
    assert_eq!(documented, expected, "\n{heading}:\n{}\n", expected.join("\n"));
}

#[test]
#[cfg_attr(miri, ignore = "it looks through the document; hashes of all lengths are made elsewhere")]
fn the_hash_is_the_documented_one() {
    let bytes = |length: usize| (0..length).map(|index| (index * 7 + length) as u8).collect::<Vec<_>>();
    let vectors = DOCUMENT.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let length = cells.next()?.parse::<usize>().ok()?;
        let hash = u64::from_str_radix(cells.next()?.strip_prefix('`')?.split('`').next()?, 16).ok()?;
        Some((length, hash))
    });
    let vectors: Vec<_> = vectors.collect();
    assert_eq!(vectors.len(), 27);
    for (length, hash) in vectors {
        assert_eq!(identity().hash(&bytes(length)), hash, "hash of {length} bytes");
    }
    assert_eq!(identity().tag_seed, 0x0808_0808_0808_0808);
    assert_eq!(identity().page_seed(at(5)), 0x0808_0808_0808_0808 ^ 0x89df_ed86_c881_e2d6);
    // The value that XXH3's author publishes for no bytes and seed 0.
    assert_eq!(checksum(b"", 0), 0x2d06_8005_38d3_94c2);
}

#[test]
fn a_leaf_is_stored_as_documented() {
    let mut builder = LeafBuilder::new(PageSize::KiB8, ValueAlign::Four);
    let entries: [(&[u8], Op, &[u8]); 3] =
        [(b"apple", Op::PutNew, b"red"), (b"apricot", Op::PutReplace, b"orange"), (b"april", Op::DeleteCounted, b"")];
    for (key, op, value) in entries {
        builder.push(op, CellKey::Inline(key), CellValue::Inline(value), identity().hash(key));
    }
    let mut page = vec![0; 8192];
    builder.finish(&mut page);
    seal_page(&mut page, &identity(), at(5), BIRTH);
    assert_documented("### Example of a leaf", &page);
    assert!(verify_page(&page, &identity(), at(5), BIRTH).is_ok());
}

#[test]
fn a_packed_leaf_is_stored_as_documented() {
    let mut builder = PackedBuilder::new(PageSize::KiB8);
    [b"n1" as &[u8], b"n10", b"n2", b"n20"].iter().for_each(|key| builder.push(key, &CellValue::Inline(b"")));
    let mut page = vec![0; 8192];
    builder.finish_first(4, &mut page);
    seal_page(&mut page, &identity(), at(5), BIRTH);
    assert_documented("### Example of a packed leaf", &page);
    assert!(verify_page(&page, &identity(), at(5), BIRTH).is_ok());
}

#[test]
fn a_branch_is_stored_as_documented() {
    let mut builder = BranchBuilder::new(PageSize::KiB8, 1);
    let children: [(&[u8], u32, bool, i64); 3] =
        [(b"", 5, false, 115), (b"user:4", 6, true, -2), (b"user:77", 0x01_0203, false, 20)];
    for (separator, slot, has_overflow, count) in children {
        builder.push(CellKey::Inline(separator), Child { page: at(slot), has_overflow }, count);
    }
    let mut page = vec![0; 8192];
    builder.finish(&mut page);
    seal_page(&mut page, &identity(), at(7), BIRTH);
    assert_documented("### Example of a branch", &page);
    assert!(verify_page(&page, &identity(), at(7), BIRTH).is_ok());
}

/// The filter of the keys of one byte that are below this.
fn filter_of_bytes(below: u8) -> Vec<u8> {
    build_filter(&(0..below).map(|key| identity().hash(&[key])).collect::<Vec<_>>())
}

#[test]
fn a_filter_is_stored_as_documented() {
    let filter = filter_of_bytes(64);
    assert_documented("### Example of a filter", &filter);
    assert!((0..64).all(|key| filter_passes(&filter, identity().hash(&[key]))));
    assert!((64..=255).filter(|&key| filter_passes(&filter, identity().hash(&[key]))).count() < 20);
}

#[test]
fn a_description_with_runs_is_stored_as_documented() {
    let filter = filter_of_bytes(64);
    let (length, checksum) = (filter.len() as u32, identity().hash(&filter));
    let filter = OverflowRef { extent: ExtentId(1), slot: 0, length, checksum };
    let root = |slot: u32, level, entries, has_overflow| StoredRoot { page: at(slot), level, entries, has_overflow };
    let runs = vec![
        StoredRun { root: root(9, 0, 3, false), filter: None },
        StoredRun { root: root(10, 0, 64, true), filter: Some(filter) },
    ];
    let table = TableDescriptor {
        id: TableId(7),
        multimap: false,
        counted: false,
        packed: false,
        value_align: 1,
        merge: None,
        key_type: "string".into(),
        value_type: "u8".into(),
        root: Some(root(7, 1, 133, true)),
        ranges: vec![
            StoredRange { low: Box::default(), runs },
            StoredRange { low: (*b"user:4").into(), runs: Vec::new() },
        ],
    };
    assert_documented("### Example of a description with runs", &table.encode());
    assert_eq!(TableDescriptor::decode(&table.encode()), Ok(table));
}

#[test]
fn a_description_with_a_merge_function_is_stored_as_documented() {
    let table = TableDescriptor {
        id: TableId(7),
        multimap: false,
        counted: false,
        packed: false,
        value_align: 1,
        merge: Some(Merging::Function("word set".into())),
        key_type: "string".into(),
        value_type: String::new(),
        root: None,
        ranges: Vec::new(),
    };
    assert_documented("### Example of a description with a merge function", &table.encode());
    assert_eq!(TableDescriptor::decode(&table.encode()), Ok(table));
}

fn meta() -> Meta {
    Meta {
        page_size: PageSize::KiB8,
        uuid: identity().uuid,
        features: FeatureBits::default(),
        number: 12,
        birth: BIRTH,
        sequence: Sequence(1000),
        log_first_segment: SegmentNumber(4),
        log_exists: true,
        page_count: 40,
        next_table_id: TableId(3),
        size_bytes_max: 1 << 30,
        catalog: Some(CatalogRoot { page: at(5), level: 0, entries: 2 }),
        extent_table: ExtentTableRef {
            first_page: PageNumber(33),
            page_count: 1,
            entry_count: 2,
            birth: BIRTH,
            checksum: identity().hash(&entries().map(ExtentEntry::to_bytes).concat()),
        },
        created_unix_ms: 1_790_000_000_000,
    }
}

fn entries() -> [ExtentEntry; 2] {
    let nodes = ExtentEntry {
        first_page: PageNumber(1),
        page_count: 32,
        kind: ExtentKind::Nodes,
        flags: ExtentFlags { single: false },
        birth: BIRTH,
        live: 0b1110_0000,
    };
    let values = ExtentEntry {
        first_page: PageNumber(34),
        page_count: 6,
        kind: ExtentKind::Values,
        flags: ExtentFlags { single: true },
        birth: Birth(8),
        live: 1,
    };
    [nodes, values]
}

#[test]
fn a_meta_is_stored_as_documented() {
    assert_documented("### Example of a meta", &meta().encode());
    assert_eq!(Meta::decode(&meta().encode()), Ok(meta()));
}

#[test]
fn the_extent_table_is_stored_as_documented() {
    let mut page = vec![0; 8192];
    ExtentTablePage::encode(ExtentId(0), &entries(), &mut page);
    seal_page(&mut page, &identity(), ExtentTablePage::page_ref(0), BIRTH);
    assert_documented("### Example of the extent table", &page);
    assert!(verify_page(&page, &identity(), ExtentTablePage::page_ref(0), BIRTH).is_ok());
    let read = ExtentTablePage::decode(&page).expect("a written page is read");
    assert_eq!((read.first, read.entries.as_slice()), (ExtentId(0), &entries()[..]));
}

/// A meta whose bytes were changed, with a checksum that matches.
fn forged(change: impl FnOnce(&mut [u8; 512])) -> Result<Meta, MetaError> {
    let mut bytes = meta().encode();
    change(&mut bytes);
    let sum = checksum(&bytes[..504], 0);
    bytes[504..].copy_from_slice(&sum.to_le_bytes());
    Meta::decode(&bytes)
}

#[test]
fn a_meta_says_why_it_cannot_be_used() {
    assert_eq!(Meta::decode(&[0; 512]), Err(MetaError::NotAMeta));
    assert_eq!(forged(|bytes| bytes[0] = b'f'), Err(MetaError::NotAMeta));
    let mut torn = meta().encode();
    torn[72] ^= 1;
    assert!(matches!(Meta::decode(&torn), Err(MetaError::Damaged(offence)) if offence.at == 504));
    let message = |result: Result<Meta, MetaError>| result.expect_err("it must be refused").to_string();
    assert_eq!(message(forged(|bytes| bytes[8] = 2)), "format version 2, this one knows 1");
    assert_eq!(message(forged(|bytes| bytes[48] = 4)), "unknown incompatible features 0x4");
    assert_eq!(message(forged(|bytes| bytes[12] = 1)), "impossible page size (byte 12 of the meta)");
    let unknown = forged(|bytes| bytes[40] = 2).expect("it can be read");
    assert!(!unknown.is_writable());
    let kept = forged(|bytes| bytes[40] = 1).expect("it can be read");
    assert!(kept.is_writable() && kept.features.log_is_kept() && !meta().features.log_is_kept());
    assert!(meta().is_writable() && forged(|bytes| bytes[32] = 1).expect("it can be read").is_writable());
    for bad in [100, 121, 122, 144, 176, 503] {
        let result = forged(|bytes| bytes[bad] ^= 0x80);
        assert!(matches!(&result, Err(MetaError::Damaged(offence)) if offence.at == bad as u32), "byte {bad}");
    }
}

#[test]
fn a_meta_whose_counters_are_out_of_range_is_damaged() {
    // Offsets of number, birth, sequence and first log segment, and the least that each may be.
    for (at, least) in [(56, 1), (64, 1), (72, 0), (80, 1)] {
        let with = |counter: u64| forged(|bytes| bytes[at..at + 8].copy_from_slice(&counter.to_le_bytes()));
        for sound in [least, least + 1, (1 << 62) - 1] {
            assert!(with(sound).is_ok(), "{sound} at byte {at}");
        }
        for wild in [1 << 62, u64::MAX].into_iter().chain(u64::checked_sub(least, 1)) {
            let result = with(wild);
            assert!(
                matches!(&result, Err(MetaError::Damaged(offence)) if offence.at == at as u32),
                "{wild} at byte {at}: {result:?}"
            );
        }
    }
}

#[test]
fn no_bytes_make_reading_a_meta_panic() {
    let mut random = crate::format::tests::shapes::Random(1);
    for _ in 0..if cfg!(miri) { 12 } else { 20_000 } {
        let _ = forged(|bytes| {
            for _ in 0..random.below(4) {
                bytes[8 + random.below(496)] = random.next() as u8;
            }
        });
    }
}
