//! A matcher that goes back and tries the next way: for what an automaton cannot do, back-references and XPath's lines.
//!
//! Invariants: (1) a call takes at most its [`Steps`] and [`WAYS_MAX`] ways to go back to, or fails with [`Exhausted`].
//! (2) The limits of the evaluation are looked at now and then. (3) A program has at most [`INSTRUCTIONS_MAX`]
//! instructions. (4) Nothing here recurses with the text.

use super::flags::Flags;
use super::pattern::Node;
use super::sets::{Set, are_case_variants};
use crate::sparql::evaluation::interrupt;

/// Instructions of a program: repetitions are written out.
const INSTRUCTIONS_MAX: usize = 100_000;

/// Ways that are kept to go back to: 24 bytes each.
const WAYS_MAX: usize = 1_000_000;

/// Steps between two looks at the limits of the evaluation.
const STEPS_PER_LOOK: u64 = 4_096;

/// The search took more than its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted {
    /// The bound, in steps.
    pub steps: u64,
}

/// The steps of a call, which may search a text several times.
#[derive(Debug)]
pub(crate) struct Steps {
    taken: u64,
    max: u64,
}

impl Steps {
    /// Those that a call may take for a text of so many bytes: about a tenth of a second.
    pub(crate) fn for_text(text: &str) -> Self {
        Self { taken: 0, max: 10_000_000 + 100 * text.len() as u64 }
    }

    fn exhausted(&self) -> Exhausted {
        Exhausted { steps: self.max }
    }

    fn count(&mut self) -> Result<(), Exhausted> {
        self.taken += 1;
        if self.taken.is_multiple_of(STEPS_PER_LOOK) {
            interrupt::check();
        }
        if self.taken > self.max { Err(self.exhausted()) } else { Ok(()) }
    }
}

/// A pattern as a program.
#[derive(Debug)]
pub(crate) struct Program {
    instructions: Vec<Instruction>,
    /// Places that are remembered: two for each group, the whole match included, then one for each loop.
    slots: usize,
    flags: Flags,
}

#[derive(Debug)]
enum Instruction {
    /// A character of the set, which is a sorted list of ranges.
    Set(Box<[(char, char)]>),
    Start,
    End,
    Save(usize),
    BackReference(usize),
    /// First the one way, then the other.
    Split(usize, usize),
    Jump(usize),
    /// Goes on if the text has been read on since the slot was saved.
    HasMoved(usize),
    Match,
}

/// The pattern repeats too much to be written out.
#[derive(Debug)]
pub(crate) struct TooLarge;

impl Program {
    pub(crate) fn new(node: &Node, groups: usize, flags: Flags) -> Result<Self, TooLarge> {
        let mut writer = Writer { instructions: Vec::new(), slots: 2 * (groups + 1) };
        writer.push(Instruction::Save(0))?;
        writer.node(node)?;
        writer.push(Instruction::Save(1))?;
        writer.push(Instruction::Match)?;
        Ok(Self { instructions: writer.instructions, slots: writer.slots, flags })
    }

    /// The first match at `from` or behind it: the places of the whole and of the groups, two each.
    pub(crate) fn find(
        &self,
        text: &str,
        from: usize,
        steps: &mut Steps,
    ) -> Result<Option<Vec<Option<usize>>>, Exhausted> {
        let mut search = Search { program: self, text, slots: vec![None; self.slots], ways: Vec::new(), steps };
        let mut at = from;
        loop {
            if search.run(at)? {
                return Ok(Some(search.slots));
            }
            match text[at..].chars().next() {
                Some(character) => at += character.len_utf8(),
                None => return Ok(None),
            }
        }
    }
}

/// Writes a program.
struct Writer {
    instructions: Vec<Instruction>,
    slots: usize,
}

impl Writer {
    fn push(&mut self, instruction: Instruction) -> Result<usize, TooLarge> {
        if self.instructions.len() >= INSTRUCTIONS_MAX {
            return Err(TooLarge);
        }
        self.instructions.push(instruction);
        Ok(self.instructions.len() - 1)
    }

    fn node(&mut self, node: &Node) -> Result<(), TooLarge> {
        match node {
            Node::Set(set) => self.push(Instruction::Set(ranges(set))).map(drop),
            Node::Start => self.push(Instruction::Start).map(drop),
            Node::End => self.push(Instruction::End).map(drop),
            Node::BackReference(number) => self.push(Instruction::BackReference(*number)).map(drop),
            Node::Concatenation(nodes) => nodes.iter().try_for_each(|node| self.node(node)),
            Node::Group(inner, number) => {
                self.push(Instruction::Save(2 * number))?;
                self.node(inner)?;
                self.push(Instruction::Save(2 * number + 1)).map(drop)
            }
            Node::Alternation(branches) => self.alternation(branches),
            Node::Repetition { node, min, max, is_greedy } => {
                for _ in 0..*min {
                    self.copy(node)?;
                }
                match max {
                    None => self.any_times(node, *is_greedy),
                    Some(max) => self.at_most(node, max.saturating_sub(*min), *is_greedy),
                }
            }
        }
    }

    /// One of many: what writes no instruction counts too, or a million empty groups would be gone through.
    fn copy(&mut self, node: &Node) -> Result<(), TooLarge> {
        let before = self.instructions.len();
        self.node(node)?;
        if self.instructions.len() == before {
            self.push(Instruction::Jump(before + 1))?;
        }
        Ok(())
    }

    fn alternation(&mut self, branches: &[Node]) -> Result<(), TooLarge> {
        let mut ends = Vec::with_capacity(branches.len());
        for (index, branch) in branches.iter().enumerate() {
            if index + 1 == branches.len() {
                self.node(branch)?;
                break;
            }
            let split = self.push(Instruction::Match)?;
            self.node(branch)?;
            ends.push(self.push(Instruction::Match)?);
            self.instructions[split] = Instruction::Split(split + 1, self.instructions.len());
        }
        let end = self.instructions.len();
        for jump in ends {
            self.instructions[jump] = Instruction::Jump(end);
        }
        Ok(())
    }

    fn any_times(&mut self, node: &Node, is_greedy: bool) -> Result<(), TooLarge> {
        let split = self.push(Instruction::Match)?;
        if let Node::Set(_) = node {
            self.node(node)?;
        } else {
            let slot = self.slots;
            self.slots += 1;
            self.push(Instruction::Save(slot))?;
            self.node(node)?;
            self.push(Instruction::HasMoved(slot))?;
        }
        self.push(Instruction::Jump(split))?;
        self.instructions[split] = split_of(split + 1, self.instructions.len(), is_greedy);
        Ok(())
    }

    fn at_most(&mut self, node: &Node, times: u32, is_greedy: bool) -> Result<(), TooLarge> {
        let mut splits = Vec::new();
        for _ in 0..times {
            splits.push(self.push(Instruction::Match)?);
            self.node(node)?;
        }
        let end = self.instructions.len();
        for split in splits {
            self.instructions[split] = split_of(split + 1, end, is_greedy);
        }
        Ok(())
    }
}

fn split_of(within: usize, behind: usize, is_greedy: bool) -> Instruction {
    if is_greedy { Instruction::Split(within, behind) } else { Instruction::Split(behind, within) }
}

fn ranges(set: &Set) -> Box<[(char, char)]> {
    set.ranges().iter().map(|range| (range.start(), range.end())).collect()
}

/// A way to go back to.
enum Way {
    Branch { instruction: usize, at: usize },
    Slot { slot: usize, was: Option<usize> },
}

struct Search<'s> {
    program: &'s Program,
    text: &'s str,
    slots: Vec<Option<usize>>,
    ways: Vec<Way>,
    steps: &'s mut Steps,
}

impl Search<'_> {
    /// Whether the pattern matches at this place; the slots are then those of the match.
    fn run(&mut self, place: usize) -> Result<bool, Exhausted> {
        self.slots.fill(None);
        self.ways.clear();
        let (mut instruction, mut at) = (0, place);
        loop {
            self.steps.count()?;
            let next = match &self.program.instructions[instruction] {
                Instruction::Match => return Ok(true),
                Instruction::Set(ranges) => self.character(at).filter(|one| contains(ranges, *one)).map(|one| {
                    at += one.len_utf8();
                    instruction + 1
                }),
                Instruction::Start => self.is_start(at).then_some(instruction + 1),
                Instruction::End => self.is_end(at).then_some(instruction + 1),
                Instruction::Save(slot) => {
                    self.way(Way::Slot { slot: *slot, was: self.slots[*slot] })?;
                    self.slots[*slot] = Some(at);
                    Some(instruction + 1)
                }
                Instruction::HasMoved(slot) => (self.slots[*slot] != Some(at)).then_some(instruction + 1),
                Instruction::BackReference(number) => self.repeated(*number, at)?.map(|end| {
                    at = end;
                    instruction + 1
                }),
                Instruction::Split(first, second) => {
                    self.way(Way::Branch { instruction: *second, at })?;
                    Some(*first)
                }
                Instruction::Jump(to) => Some(*to),
            };
            match next {
                Some(next) => instruction = next,
                None => match self.back() {
                    Some((way, place)) => (instruction, at) = (way, place),
                    None => return Ok(false),
                },
            }
        }
    }

    fn way(&mut self, way: Way) -> Result<(), Exhausted> {
        if self.ways.len() >= WAYS_MAX {
            return Err(self.steps.exhausted());
        }
        self.ways.push(way);
        Ok(())
    }

    /// The last branch that was not taken, with the slots as they were there.
    fn back(&mut self) -> Option<(usize, usize)> {
        loop {
            match self.ways.pop()? {
                Way::Branch { instruction, at } => return Some((instruction, at)),
                Way::Slot { slot, was } => self.slots[slot] = was,
            }
        }
    }

    fn character(&self, at: usize) -> Option<char> {
        self.text[at..].chars().next()
    }

    /// With lines, a place behind a `\n` that does not end the text.
    fn is_start(&self, at: usize) -> bool {
        let is_line = self.program.flags.has_lines && at < self.text.len() && self.text[..at].ends_with('\n');
        at == 0 || is_line
    }

    /// With lines, a place before a `\n`, and the end of a text that ends without one.
    fn is_end(&self, at: usize) -> bool {
        if self.program.flags.has_lines {
            return if at == self.text.len() { !self.text.ends_with('\n') } else { self.text[at..].starts_with('\n') };
        }
        at == self.text.len()
    }

    /// Where the text of a group ends that stands here again. A group that has not matched is empty.
    fn repeated(&mut self, number: usize, at: usize) -> Result<Option<usize>, Exhausted> {
        let (Some(from), Some(to)) = (self.slots[2 * number], self.slots[2 * number + 1]) else { return Ok(Some(at)) };
        let text = self.text;
        let (group, rest) = (&text[from..to], &text[at..]);
        // It takes time as its length has it.
        self.steps.taken += group.len() as u64 / 16;
        if !self.program.flags.ignores_case {
            return Ok(rest.starts_with(group).then(|| at + group.len()));
        }
        let mut end = at;
        let mut others = rest.chars();
        for wanted in group.chars() {
            self.steps.count()?;
            match others.next() {
                Some(other) if are_case_variants(wanted, other) => end += other.len_utf8(),
                _ => return Ok(None),
            }
        }
        Ok(Some(end))
    }
}

fn contains(ranges: &[(char, char)], character: char) -> bool {
    match ranges {
        [(first, last)] => (*first..=*last).contains(&character),
        _ => {
            let index = ranges.partition_point(|(first, _)| *first <= character);
            index > 0 && character <= ranges[index - 1].1
        }
    }
}

#[cfg(test)]
mod tests;
