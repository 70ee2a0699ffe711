//! `stats`: what every byte of a database is used for.

use std::io::Write;
use std::time::{Duration, Instant};

use fulgurite::MapMemory;

use crate::arguments::{OutputFormat, Stats};
use crate::commands::database::tables::merge_name;
use crate::database::reading;
use crate::failure::Failure;
use crate::json;
use crate::output::{Cell, Printer, counted, grouped, pause, size, standard_output};

/// Prints the parts of the file and its tables.
pub fn run(arguments: &Stats) -> Result<(), Failure> {
    if let Some(interval) = arguments.watch {
        return watch(arguments, interval);
    }
    reading(&arguments.file.path, |db, _| {
        let stats = db.stats()?;
        match arguments.format {
            OutputFormat::Table => print_table(&stats, db.map_memory()?),
            OutputFormat::Json | OutputFormat::Ndjson => print_json(&stats, db.map_memory()?),
            OutputFormat::Csv => print_rows(OutputFormat::Csv, &stats),
        }
    })
}

/// Prints a line of changing figures at each interval, until it is stopped.
fn watch(arguments: &Stats, interval: Duration) -> Result<(), Failure> {
    let mut before: Option<(Instant, u64)> = None;
    for line in 0.. {
        if arguments.times.is_some_and(|times| line >= times) {
            break;
        }
        if line > 0 {
            pause(interval)?;
        }
        reading(&arguments.file.path, |db, _| {
            let (now, stats) = (Instant::now(), db.stats()?);
            let commits = before.map_or(0.0, |(then, sequence)| {
                stats.sequence.saturating_sub(sequence) as f64 / now.duration_since(then).as_secs_f64()
            });
            before = Some((now, stats.sequence));
            print_line(arguments.format, line, &stats, commits).map_err(Failure::Output)
        })?;
    }
    Ok(())
}

/// One line of [`watch`], flushed when it is complete: another program may read it.
fn print_line(format: OutputFormat, line: u64, stats: &fulgurite::Stats, commits: f64) -> std::io::Result<()> {
    let numbers = [
        ("file_bytes", stats.file_bytes),
        ("log_bytes", stats.log_bytes),
        ("free_bytes", stats.free_bytes),
        ("pinned_bytes", stats.pinned_bytes),
        ("checkpoints", stats.checkpoints),
        ("sequence", stats.sequence),
        ("commits_per_second", commits as u64),
    ];
    let mut out = standard_output();
    match format {
        OutputFormat::Table => {
            if line.is_multiple_of(WATCH_LINES_PER_HEADER) {
                writeln!(
                    out,
                    "{:>11} {:>11} {:>11} {:>11} {:>12} {:>14} {:>12}",
                    "file", "log", "free", "pinned", "checkpoints", "commits", "commits/s"
                )?;
            }
            for (_, bytes) in &numbers[..4] {
                write!(out, "{:>11} ", size(*bytes))?;
            }
            let [.., (_, checkpoints), (_, sequence), (_, rate)] = numbers;
            writeln!(out, "{:>12} {:>14} {:>12}", grouped(checkpoints), grouped(sequence), grouped(rate))?;
        }
        OutputFormat::Json | OutputFormat::Ndjson => {
            let fields: Vec<String> = numbers.iter().map(|(name, number)| format!("\"{name}\":{number}")).collect();
            writeln!(out, "{{{}}}", fields.join(","))?;
        }
        OutputFormat::Csv => {
            if line == 0 {
                writeln!(out, "{}", numbers.map(|(name, _)| name).join(","))?;
            }
            writeln!(out, "{}", numbers.map(|(_, number)| number.to_string()).join(","))?;
        }
    }
    out.flush()
}

/// The parts of the file, in the words of the documentation.
fn parts(stats: &fulgurite::Stats) -> [(&'static str, u64); 8] {
    [
        ("metas", stats.meta_bytes),
        ("trees", stats.tree_bytes),
        ("long keys and values", stats.value_bytes),
        ("extent table", stats.extent_table_bytes),
        ("placed, not yet in a tree", stats.placed_bytes),
        ("pinned by snapshots", stats.pinned_bytes),
        ("free", stats.free_bytes),
        ("reserve at the end", stats.reserve_bytes),
    ]
}

fn print_table(stats: &fulgurite::Stats, map: Option<MapMemory>) -> Result<(), Failure> {
    print_rows(OutputFormat::Table, stats)?;
    let mut out = standard_output();
    let mut text = format!(
        "\n{} in {}, pages of {}; {} of log; commits up to {}, in the trees up to {}\n",
        size(stats.file_bytes),
        counted(stats.extents, "extent", "extents"),
        size(stats.page_size_bytes),
        size(stats.log_bytes),
        stats.sequence,
        stats.checkpoint_sequence
    );
    if let Some(oldest) = stats.oldest_change {
        let held = match stats.log_held_bytes {
            0 => String::new(),
            held => format!(", {} of it held for active readers", size(held)),
        };
        text.push_str(&format!("changes from commit {oldest} on: {} of log kept{held}\n", size(stats.log_kept_bytes)));
    }
    if let Some(map) = map {
        let (resident, huge) = (size(map.resident_bytes), size(map.huge_page_bytes));
        text.push_str(&format!(
            "mapped: {resident} in memory, {huge} of it by huge pages; search by {}\n",
            stats.search
        ));
    } else {
        text.push_str(&format!("not mapped; search by {}\n", stats.search));
    }
    out.write_all(text.as_bytes()).map_err(Failure::Output)?;
    if stats.tables.is_empty() {
        return out.flush().map_err(Failure::Output);
    }
    writeln!(out).and_then(|()| out.flush()).map_err(Failure::Output)?;
    drop(out);
    let columns = ["table", "merge", "entries", "levels", "runs", "runs deep", "in runs", "in the log"];
    let mut printer = Printer::to_standard_output(OutputFormat::Table, &columns);
    for table in &stats.tables {
        let merge = merge_name(table.merge_operator, table.merge_function.as_deref());
        printer.row(&[
            Cell::Text(&table.name),
            Cell::Text(&merge),
            Cell::Number(table.entries),
            Cell::Number(table.levels.into()),
            Cell::Number(table.runs),
            Cell::Number(table.runs_deep),
            Cell::Number(table.run_entries),
            Cell::Number(table.delta_entries),
        ])?;
    }
    printer.finish()
}

fn print_rows(format: OutputFormat, stats: &fulgurite::Stats) -> Result<(), Failure> {
    let mut printer = Printer::to_standard_output(format, &["part", "bytes", "share"]);
    let whole = stats.file_bytes.max(1) as f64;
    for (part, bytes) in parts(stats) {
        printer.row(&[Cell::Text(part), Cell::Number(bytes), Cell::Share(bytes as f64 / whole)])?;
    }
    printer.row(&[Cell::Text("file"), Cell::Number(stats.file_bytes), Cell::Share(1.0)])?;
    printer.finish()
}

fn print_json(stats: &fulgurite::Stats, map: Option<MapMemory>) -> Result<(), Failure> {
    let numbers = [
        ("file_bytes", stats.file_bytes),
        ("page_size_bytes", stats.page_size_bytes),
        ("meta_bytes", stats.meta_bytes),
        ("tree_bytes", stats.tree_bytes),
        ("value_bytes", stats.value_bytes),
        ("extent_table_bytes", stats.extent_table_bytes),
        ("placed_bytes", stats.placed_bytes),
        ("pinned_bytes", stats.pinned_bytes),
        ("free_bytes", stats.free_bytes),
        ("reserve_bytes", stats.reserve_bytes),
        ("extents", stats.extents),
        ("log_bytes", stats.log_bytes),
        ("log_kept_bytes", stats.log_kept_bytes),
        ("log_held_bytes", stats.log_held_bytes),
        ("delta_bytes", stats.delta_bytes),
        ("sequence", stats.sequence),
        ("checkpoint_sequence", stats.checkpoint_sequence),
        ("resident_bytes", map.map_or(0, |map| map.resident_bytes)),
        ("huge_page_bytes", map.map_or(0, |map| map.huge_page_bytes)),
    ];
    let mut text = String::from("{");
    for (name, number) in numbers {
        text.push_str(&format!("\"{name}\":{number},"));
    }
    let oldest = stats.oldest_change.map_or("null".to_owned(), |oldest| oldest.to_string());
    text.push_str(&format!(
        "\"oldest_change\":{oldest},\"mapped\":{},\"search\":\"{}\",\"tables\":[",
        stats.mapped, stats.search
    ));
    for (index, table) in stats.tables.iter().enumerate() {
        text.push_str(if index == 0 { "{\"table\":" } else { ",{\"table\":" });
        json::push_string(&table.name, &mut text);
        text.push_str(",\"merge\":");
        json::push_string(&merge_name(table.merge_operator, table.merge_function.as_deref()), &mut text);
        let numbers = [
            ("entries", table.entries),
            ("levels", table.levels.into()),
            ("runs", table.runs),
            ("runs_deep", table.runs_deep),
            ("run_entries", table.run_entries),
            ("delta_entries", table.delta_entries),
        ];
        for (name, number) in numbers {
            text.push_str(&format!(",\"{name}\":{number}"));
        }
        text.push('}');
    }
    text.push_str("]}\n");
    let mut out = standard_output();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Output)
}

/// The header comes again after so many lines.
const WATCH_LINES_PER_HEADER: u64 = 20;
