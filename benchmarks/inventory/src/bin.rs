//! A bin, independent of its encoding.

/// What is stored at one location.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// The number of the location.
    pub location: u64,
    /// The name of the location.
    pub name: String,
    /// The items there, each once.
    pub stocks: Vec<Stock>,
}

/// How many pieces of an item there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stock {
    /// The number of the item.
    pub item: u64,
    /// How many pieces.
    pub quantity: i64,
}

impl Bin {
    /// Adds pieces of an item, and the item if the bin does not have it. A negative number removes pieces.
    pub fn add(&mut self, item: u64, pieces: i64) {
        match self.stocks.iter_mut().find(|stock| stock.item == item) {
            Some(stock) => stock.quantity = stock.quantity.wrapping_add(pieces),
            None => self.stocks.push(Stock { item, quantity: pieces }),
        }
    }
}
