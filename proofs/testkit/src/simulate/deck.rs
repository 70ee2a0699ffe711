//! Chances that even out: a short run has few lives, and must have all kinds of them.

use crate::random::Random;

/// Answers as from a pack of cards, which is shuffled again when all are drawn.
#[derive(Debug)]
pub struct Deck {
    yes: usize,
    cards: usize,
    left: Vec<bool>,
}

impl Deck {
    /// Of each `cards` draws so many say yes.
    pub fn new(yes: usize, cards: usize) -> Self {
        assert!(yes <= cards && cards > 0, "a deck has cards");
        Self { yes, cards, left: Vec::new() }
    }

    /// The next card.
    pub fn draw(&mut self, random: &mut Random) -> bool {
        if self.left.is_empty() {
            self.left = (0..self.cards).map(|card| card < self.yes).collect();
        }
        self.left.swap_remove(random.index(self.left.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deck_gives_all_its_cards_in_an_order_of_chance_and_again() {
        let (mut random, mut deck) = (Random::new(1), Deck::new(2, 6));
        let mut packs: Vec<Vec<bool>> = (0..50).map(|_| (0..6).map(|_| deck.draw(&mut random)).collect()).collect();
        assert!(packs.iter().all(|pack| pack.iter().filter(|&&card| card).count() == 2));
        packs.sort();
        packs.dedup();
        assert!(packs.len() > 10, "of fifteen orders");
    }
}
