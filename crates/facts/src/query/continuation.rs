//! Where a page ended, as bytes.
//!
//! A byte for the form, the hash of the query, whether the last match was returned, the id of the next derived
//! fact, and the positions of the loops, innermost first: a byte for the kind, and a number.

use crate::error::{Error, Result};
use crate::ids::FactId;
use crate::query::execution::Position;
use crate::value::bytes::Cursor;
use crate::value::nat::put_nat;

/// Where a page ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Continuation {
    /// Which query it is of.
    pub hash: u64,
    /// The id of the next derived fact.
    pub next_id: FactId,
    /// Whether the match at the positions was returned.
    pub skip_first: bool,
    /// The positions of loops, innermost first.
    pub positions: Vec<Position>,
}

/// The form of these bytes.
const FORM: u8 = 1;

impl Continuation {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![FORM];
        put_nat(&mut bytes, self.hash);
        bytes.push(u8::from(self.skip_first));
        put_nat(&mut bytes, self.next_id.get());
        put_nat(&mut bytes, self.positions.len() as u64);
        for position in &self.positions {
            match position {
                Position::Index(index) => {
                    bytes.push(0);
                    put_nat(&mut bytes, *index);
                }
                Position::Fact(fact) => {
                    bytes.push(1);
                    put_nat(&mut bytes, fact.get());
                }
            }
        }
        bytes
    }

    /// From bytes.
    pub fn decode(bytes: &[u8]) -> Result<Continuation> {
        let damaged = |_| Error::Continuation("its bytes are damaged");
        let mut cursor = Cursor::new(bytes);
        if cursor.byte().map_err(damaged)? != FORM {
            return Err(Error::Continuation("it is of another version"));
        }
        let hash = cursor.nat().map_err(damaged)?;
        let skip_first = match cursor.byte().map_err(damaged)? {
            0 => false,
            1 => true,
            _ => return Err(Error::Continuation("its bytes are damaged")),
        };
        let next_id =
            FactId::new(cursor.nat().map_err(damaged)?).ok_or(Error::Continuation("its bytes are damaged"))?;
        let mut positions = Vec::new();
        for _ in 0..cursor.nat().map_err(damaged)? {
            positions.push(match cursor.byte().map_err(damaged)? {
                0 => Position::Index(cursor.nat().map_err(damaged)?),
                1 => {
                    let id = FactId::new(cursor.nat().map_err(damaged)?);
                    Position::Fact(id.ok_or(Error::Continuation("its bytes are damaged"))?)
                }
                _ => return Err(Error::Continuation("its bytes are damaged")),
            });
        }
        cursor.end().map_err(damaged)?;
        Ok(Continuation { hash, next_id, skip_first, positions })
    }
}
