//! Figures, and where they go.

use std::fs;
use std::time::Duration;

use plotters::prelude::*;
use serde_json::{Value, json};

use crate::support::root;

/// Everything that was measured.
#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
}

struct Row {
    what: String,
    found: String,
    goal: String,
    met: bool,
    figures: Value,
}

/// The middle of an odd or even number of times, and the time that 95 of 100 stay below.
pub fn quantiles(times: &[Duration]) -> (Duration, Duration) {
    let mut times = times.to_vec();
    times.sort();
    (times[times.len() / 2], times[(times.len() * 95).div_ceil(100) - 1])
}

impl Report {
    /// Ours beside the bare client's: the ratio counts.
    pub fn ratio(&mut self, what: &str, ours: Duration, bare: Duration, most: f64) {
        let ratio = ours.as_secs_f64() / bare.as_secs_f64();
        let figures = json!({"ours": ours.as_secs_f64(), "bare": bare.as_secs_f64()});
        let goal = format!("≤ {most} × bare");
        self.row(what, format!("{ratio:.2} × bare"), goal, ratio <= most, figures);
    }

    /// A number that may not be passed.
    pub fn most(&mut self, what: &str, found: f64, most: f64, unit: &str) {
        // No -0.0: the difference of two counters.
        let found = found + 0.0;
        let figures = json!({"found": found, "most": most, "unit": unit});
        let goal = format!("≤ {most} {unit}");
        self.row(what, format!("{found:.1} {unit}"), goal, found <= most, figures);
    }

    /// What is only told.
    pub fn told(&mut self, what: &str, found: String, figures: Value) {
        self.row(what, found, String::new(), true, figures);
    }

    fn row(&mut self, what: &str, found: String, goal: String, met: bool, figures: Value) {
        println!(
            "{what}: {found} (goal: {goal}, {}) {figures}",
            if met { "met" } else { "MISSED" }
        );
        self.rows.push(Row { what: what.to_owned(), found, goal, met, figures });
    }

    /// Writes the JSON, and prints the table of docs/performance.md.
    pub fn save(&self) {
        let rows = self.rows.iter().map(|r| {
            json!({"what": r.what, "found": r.found, "goal": r.goal, "met": r.met, "figures": r.figures})
        });
        let machine = machine();
        let all = json!({"machine": machine, "rows": rows.collect::<Vec<_>>()});
        let folder = root().join("target/bench");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("estates.json"), format!("{all:#}\n")).unwrap();
        println!("\n{machine}\n\n| What | Found | Goal |\n|---|---|---|");
        for row in &self.rows {
            let missed = if row.met { "" } else { " **missed**" };
            println!("| {} | {}{missed} | {} |", row.what, row.found, row.goal);
        }
    }
}

/// Processors and memory, as the kernel tells them.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = memory.lines().find_map(|l| l.strip_prefix("MemTotal:")).unwrap_or_default();
    format!("{cores} processors, {} of memory", total.trim())
}

/// The exponent of a power law through (size, time) points, by least squares of their logarithms: 1 is linear growth.
pub fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let over: f64 = logs.iter().map(|(x, y)| (x - mx) * (y - my)).sum();
    over / logs.iter().map(|(x, _)| (x - mx).powi(2)).sum::<f64>()
}

/// A line through points (RRsets, seconds) on logarithmic axes, as SVG.
pub fn plot(file: &str, title: &str, points: &[(f64, f64)]) {
    let folder = root().join("target/bench");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(file);
    let area = SVGBackend::new(&path, (640, 400)).into_drawing_area();
    area.fill(&WHITE).unwrap();
    let span = |of: fn(&(f64, f64)) -> f64| {
        let (low, top) =
            points.iter().map(of).fold((f64::MAX, 0.0_f64), |(l, t), v| (l.min(v), t.max(v)));
        (low / 2.0..top * 2.0).log_scale()
    };
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 16))
        .margin(10)
        .x_label_area_size(30)
        .y_label_area_size(60)
        .build_cartesian_2d(span(|p| p.0), span(|p| p.1))
        .unwrap();
    chart.configure_mesh().x_desc("RRsets").y_desc("seconds").draw().unwrap();
    chart.draw_series(LineSeries::new(points.iter().copied(), &BLUE)).unwrap();
    area.present().unwrap();
}
