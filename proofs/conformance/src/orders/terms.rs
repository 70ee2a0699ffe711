//! Random terms, as SPARQL writes them.

/// A generator of pseudo-random numbers: `SplitMix64`.
pub struct Random(u64);

impl Random {
    /// The numbers that follow from a seed. Those of neighbouring seeds have nothing in common.
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed);
        Self(random.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len() as u64) as usize]
    }
}

/// Terms of one world: of all kinds, or mostly of one, so that many of them can be compared.
pub fn list(random: &mut Random) -> Vec<String> {
    let main = KINDS[random.below(KINDS.len() as u64) as usize];
    let is_mixed = random.below(3) == 0;
    let mut term = || {
        let is_other = is_mixed || random.below(8) == 0;
        let kind = if is_other { KINDS[random.below(KINDS.len() as u64) as usize] } else { main };
        kind(random)
    };
    (0..TERMS).map(|_| term()).collect()
}

const TERMS: usize = 14;

type Kind = fn(&mut Random) -> String;

const KINDS: &[Kind] = &[number, number, number, text, tagged, truth, date_time, part_of_date, duration, other];

/// A number of any type. Those beyond 64 bits, and decimals of more than 18 digits, are no numbers to Oxigraph.
fn number(random: &mut Random) -> String {
    let sign = random.one_of(&["", "-", "+"]);
    let (small, fraction) = (random.below(12), random.below(1000));
    match random.below(10) {
        0 => typed(&format!("{sign}{small}"), "integer"),
        1 => typed(&format!("{sign}00{small}"), random.one_of(&["integer", "int", "long", "short", "byte"])),
        2 => typed(&format!("{sign}{}", random.next() >> 2), "integer"),
        3 => typed(&format!("{small}"), random.one_of(&["nonNegativeInteger", "unsignedByte", "unsignedLong"])),
        4 => typed(&format!("{sign}{small}.{fraction:03}"), "decimal"),
        5 => typed(&format!("{sign}{small}.0"), "decimal"),
        6 => typed(&format!("{sign}{small}.{fraction}e{}", random.below(4)), "double"),
        7 => typed(&format!("{sign}{small}.{fraction}E-{}", random.below(3)), "float"),
        8 => typed(random.one_of(&["INF", "-INF", "NaN", "0.0", "-0.0"]), random.one_of(&["double", "float"])),
        _ => typed(&format!("{sign}{}", random.next() >> 10), random.one_of(&["decimal", "double", "integer"])),
    }
}

fn letters(random: &mut Random) -> String {
    (0..random.below(4)).map(|_| random.one_of(&["a", "A", "b", "Z", "ä", "€", "🦀", "\u{fffd}", "1", " "])).collect()
}

fn text(random: &mut Random) -> String {
    format!("\"{}\"", letters(random))
}

fn tagged(random: &mut Random) -> String {
    format!("\"{}\"@{}", letters(random), random.one_of(&["en", "EN", "en-GB", "de"]))
}

fn truth(random: &mut Random) -> String {
    typed(random.one_of(&["true", "false", "1", "0"]), "boolean")
}

fn zone(random: &mut Random) -> &'static str {
    random.one_of(&["", "", "Z", "+02:00", "-14:00", "+14:00", "+00:00", "-05:30"])
}

fn year(random: &mut Random) -> String {
    random.one_of(&["1969", "1970", "2000", "2024", "9999", "-0001", "0001"]).to_owned()
}

fn clock(random: &mut Random) -> String {
    let seconds = random.one_of(&["00", "59", "30.5", "30.50", "00.001"]);
    format!("{:02}:{:02}:{seconds}", random.below(24), random.below(3) * 29)
}

fn date(random: &mut Random) -> String {
    format!("{}-{}", year(random), random.one_of(&["01-01", "02-28", "12-31", "06-15"]))
}

fn date_time(random: &mut Random) -> String {
    typed(&format!("{}T{}{}", date(random), clock(random), zone(random)), "dateTime")
}

fn part_of_date(random: &mut Random) -> String {
    let zone = zone(random);
    match random.below(4) {
        0 => typed(&format!("{}{zone}", date(random)), "date"),
        1 => typed(&format!("{}{zone}", clock(random)), "time"),
        2 => typed(&format!("{}{zone}", year(random)), "gYear"),
        _ => typed(&format!("{}-0{}{zone}", year(random), 1 + random.below(9)), "gYearMonth"),
    }
}

fn duration(random: &mut Random) -> String {
    let sign = random.one_of(&["", "-"]);
    let (years, months, days) = (random.below(3), random.below(14), random.below(32));
    match random.below(3) {
        0 => typed(&format!("{sign}P{years}Y{months}M"), "yearMonthDuration"),
        1 => typed(&format!("{sign}P{days}DT{}H{}.5S", random.below(30), random.below(70)), "dayTimeDuration"),
        _ => typed(&format!("{sign}P{months}M{days}D"), "duration"),
    }
}

/// IRIs, unknown datatypes and ill-typed literals.
fn other(random: &mut Random) -> String {
    match random.below(4) {
        0 | 1 => format!("<http://example.org/{}>", random.below(20)),
        2 => format!("\"{}\"^^<http://example.org/type{}>", random.below(5), random.below(2)),
        _ => typed(random.one_of(&["", "x", "1.0.0", "--1"]), random.one_of(&["integer", "dateTime", "boolean"])),
    }
}

/// Whether both are dates or times, and only one has a zone.
pub fn differ_in_zones(left: &str, right: &str) -> bool {
    let zone = |term: &str| {
        let (form, kind) = term.strip_prefix('"')?.split_once("\"^^<http://www.w3.org/2001/XMLSchema#")?;
        let is_dated = ["dateTime>", "date>", "time>", "gYear>", "gYearMonth>"].contains(&kind);
        is_dated.then_some(matches!(form.as_bytes(), [.., b'Z'] | [.., b'+' | b'-', _, _, b':', _, _]))
    };
    matches!((zone(left), zone(right)), (Some(left), Some(right)) if left != right)
}

/// Whether it is the float or double that is no number.
pub fn is_nan(term: &str) -> bool {
    ["float", "double"].iter().any(|name| term == typed("NaN", name))
}

fn typed(form: &str, name: &str) -> String {
    format!("\"{form}\"^^<http://www.w3.org/2001/XMLSchema#{name}>")
}
