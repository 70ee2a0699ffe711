//! A table as `flatc` generates it, so that the tests need no compiler of schemas:
//! `table Order { customer: string (required); apples: ulong; items: [uint]; }`

#![allow(unsafe_code)] // As in generated code: reads of tables that were verified.

use flatbuffers::{
    FlatBufferBuilder, Follow, ForwardsUOffset, InvalidFlatbuffer, Table, VOffsetT, Vector, Verifiable, Verifier,
};
use fulgurite_events::FlatRoot;

/// Names the table for every lifetime.
pub struct Orders;

impl FlatRoot for Orders {
    type Table<'p> = Order<'p>;
}

#[derive(Clone, Copy, Debug)]
pub struct Order<'p>(Table<'p>);

impl<'p> Follow<'p> for Order<'p> {
    type Inner = Self;

    /// # Safety
    /// `buffer` has a verified table of this type at `at`.
    unsafe fn follow(buffer: &'p [u8], at: usize) -> Self {
        // SAFETY: the caller has verified the table.
        Self(unsafe { Table::new(buffer, at) })
    }
}

impl Verifiable for Order<'_> {
    fn run_verifier(verifier: &mut Verifier<'_, '_>, at: usize) -> Result<(), InvalidFlatbuffer> {
        let table = verifier.visit_table(at)?;
        let table = table.visit_field::<ForwardsUOffset<&str>>("customer", CUSTOMER, true)?;
        let table = table.visit_field::<u64>("apples", APPLES, false)?;
        table.visit_field::<ForwardsUOffset<Vector<'_, u32>>>("items", ITEMS, false)?.finish();
        Ok(())
    }
}

impl<'p> Order<'p> {
    pub fn customer(&self) -> &'p str {
        // SAFETY: the table was verified, and the field has this type.
        let customer = unsafe { self.0.get::<ForwardsUOffset<&'p str>>(CUSTOMER, None) };
        customer.unwrap_or_default()
    }

    pub fn apples(&self) -> u64 {
        // SAFETY: the table was verified, and the field has this type.
        let apples = unsafe { self.0.get::<u64>(APPLES, None) };
        apples.unwrap_or_default()
    }

    pub fn items(&self) -> Vec<u32> {
        // SAFETY: the table was verified, and the field has this type.
        let items = unsafe { self.0.get::<ForwardsUOffset<Vector<'p, u32>>>(ITEMS, None) };
        items.into_iter().flatten().collect()
    }
}

/// A finished buffer. Without a customer it is malformed, because the field is required.
pub fn order(customer: Option<&str>, apples: u64, items: &[u32]) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let customer = customer.map(|customer| builder.create_string(customer));
    let items = builder.create_vector(items);
    let table = builder.start_table();
    builder.push_slot_always(APPLES, apples);
    if let Some(customer) = customer {
        builder.push_slot_always(CUSTOMER, customer);
    }
    builder.push_slot_always(ITEMS, items);
    let order = builder.end_table(table);
    builder.finish_minimal(order);
    builder.finished_data().to_vec()
}

/// The number of the field that [`FlatTable`](fulgurite_events::FlatTable) changes.
pub const APPLES_FIELD: usize = 1;
/// Where the places of the fields are in the table's list.
const CUSTOMER: VOffsetT = 4;
const APPLES: VOffsetT = 6;
const ITEMS: VOffsetT = 8;
