//! `report.html`: what is in it, how large it is, that names stay text, and what a browser
//! makes of it.

use serde_json::Value;

use crate::browser;
use crate::browser::pages::{self, HOSTILE, Told};

const SECTIONS: [&str; 12] = [
    "summary",
    "findings",
    "timeline",
    "regions",
    "kernels",
    "idle",
    "roofline",
    "counters",
    "others",
    "environment",
    "commands",
    "warnings",
];

fn data(html: &str) -> Value {
    let (_, rest) = html.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

fn section<'a>(html: &'a str, id: &str) -> &'a str {
    let (_, rest) = html.split_once(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
    rest.split_once("</section>").unwrap().0
}

/// Values of a column of a table.
fn column<'a>(data: &'a Value, table: &str, title: &str) -> &'a [Value] {
    let columns = data["tables"][table]["columns"].as_array().unwrap();
    let column = columns.iter().find(|column| column["title"] == title);
    column.unwrap_or_else(|| panic!("no {title} in {table}"))["values"].as_array().unwrap()
}

fn toy() -> Told {
    pages::real("toy-2025.3.1.sqlite", Some("toy-kernel.ncu-rep.gz"))
}

#[test]
fn a_whole_run() {
    let told = toy();
    let html = told.html();
    for id in SECTIONS {
        assert!(!section(&html, id).contains("class=\"absent\"") || id == "kernels", "{id} has its data");
    }
    let data = data(&html);
    let analysis = told.analysis.as_ref().unwrap();
    assert_eq!(data["tables"]["kernels"]["rows"], analysis.kernels.len());
    assert_eq!(data["tables"]["regions"]["rows"], analysis.regions.len());
    assert_eq!(data["tables"]["idle"]["rows"], analysis.idle.len());
    assert_eq!(data["tables"]["launches"]["rows"], told.insight.joined.as_ref().unwrap().kernels.len());
    assert_eq!(data["roofline"]["points"].as_array().unwrap().len(), 36);
    let text = |value: &Value| data["texts"][value.as_u64().unwrap() as usize].as_str().unwrap().to_owned();
    let names: Vec<String> = column(&data, "kernels", "kernel").iter().map(text).collect();
    let bounds: Vec<String> = column(&data, "kernels", "limited by").iter().map(text).collect();
    let bound = |kernel: &str| bounds[names.iter().position(|name| name == kernel).unwrap()].as_str();
    assert_eq!(
        [bound("fma_kernel"), bound("copy_kernel"), bound("tiny_kernel")],
        ["FP32 pipe", "DRAM", "latency"]
    );
    for word in ["captured", "partial", "fewer-measured", "hint:", "36 launches", "compute-bound"] {
        assert!(html.contains(word), "{word}");
    }
}

/// Every event of the trace is in the timeline, once.
#[test]
fn all_events() {
    for trace in
        ["toy-2025.3.1.sqlite", "demo-2025.3.1.sqlite", "torch-nodes-2025.3.1.sqlite", "two-2025.3.1.sqlite"]
    {
        let told = pages::real(trace, None);
        let data = data(&told.html());
        let trace = told.trace.as_ref().unwrap();
        let events =
            trace.ranges.len() + trace.calls.len() + trace.activities.len() + trace.operators.begin.len();
        assert_eq!(shown(&data), (events as u64, 0), "{}", trace.source);
    }
}

/// Pieces of the timeline that are one event, and events that stand in pieces of many.
fn shown(data: &Value) -> (u64, u64) {
    let (mut ones, mut many) = (0, 0);
    let list = |value: &Value| value.as_array().unwrap().clone();
    for group in list(&data["timeline"]["groups"]) {
        for lane in list(&group["tracks"]).iter().flat_map(|track| list(&track["lanes"])) {
            let what = numbers(lane["what"].as_str().unwrap());
            assert_eq!(lane["n"], what.len());
            ones += what.iter().filter(|what| **what > 0).count() as u64;
            many += lane["count"].as_str().map_or(0, |text| numbers(text).iter().sum());
        }
    }
    (ones, many)
}

/// What the page does with a column.
fn numbers(text: &str) -> Vec<u64> {
    let digits = "0123456789abcdefghijklmnopqrstuvwxyzXYZWV!#$%()*+,:;=?@[]^{|}~>`";
    let (mut all, mut number, mut shift) = (Vec::new(), 0, 0);
    for digit in text.chars().map(|c| digits.find(c).unwrap() as u64) {
        number |= (digit & 31) << shift;
        shift += 5;
        if digit & 32 == 0 {
            all.push(number);
            (number, shift) = (0, 0);
        }
    }
    all
}

#[test]
fn reasons_where_there_is_no_data() {
    let html = Told::default().html();
    for id in SECTIONS {
        let section = section(&html, id);
        assert!(section.contains("class=\"absent\"") || section.contains("data-else"), "{id}: {section}");
    }
    // A step that was skipped says why, wherever its numbers are missing.
    let html = pages::real("demo-2025.3.1.sqlite", None).html();
    let why =
        "not measured: the counters step was skipped (this user lacks a permission that the tool needs)";
    assert!(section(&html, "roofline").to_lowercase().contains(why), "{}", section(&html, "roofline"));
    assert!(section(&html, "counters").to_lowercase().contains(why));
    let data = data(&html);
    let note = data["tables"]["kernels"]["notes"][0].as_str().unwrap();
    assert!(note.starts_with("Limit, SM, DRAM and occupancy are not measured:"), "{note}");
}

/// A track for every quantity, with its peak, and a frame for every place that was sampled in idle time.
#[test]
fn what_was_sampled() {
    let told = browser::sampled::told();
    let html = told.html();
    let data = data(&html);
    let curves = data["timeline"]["groups"][0]["curves"].as_array().unwrap();
    let text = |value: &Value| data["texts"][value.as_u64().unwrap() as usize].as_str().unwrap().to_owned();
    let titles: Vec<String> = curves.iter().map(|curve| text(&curve["title"])).collect();
    let first = ["SM active", "tensor active", "DRAM read", "DRAM write", "power", "SM clock"];
    assert_eq!(titles, [first.as_slice(), &["PCIe read", "temperature"]].concat());
    assert!(curves.iter().enumerate().all(|(at, curve)| curve["first"] == (at < first.len())));
    for (curve, (unit, high)) in curves.iter().zip([("%", 100.0), ("%", 40.0)]) {
        let (mean, rest) = (numbers(curve["mean"].as_str().unwrap()), curve["high"].as_str());
        let above = rest.map_or_else(|| vec![0; mean.len()], numbers);
        let most = mean.iter().zip(&above).map(|(mean, above)| mean + above).max().unwrap();
        let found = most as f64 * curve["step"].as_f64().unwrap();
        assert!(curve["unit"] == unit && (found - high).abs() < 0.05, "{found} {unit}");
    }
    let timeline = section(&html, "timeline");
    for said in ["Values over time as a table", "<th scope=\"row\">PCIe read</th>", "GB/s", "MHz"] {
        assert!(timeline.contains(said), "{said}");
    }
    let idle = analysis::host_idle(told.trace.as_ref().unwrap());
    let frames = browser::sampled::frames(&data);
    assert_eq!(frames.len(), idle.nodes.len());
    assert_eq!(frames[0], ("<module>".to_owned(), idle.samples, 0));
    assert_eq!(frames.iter().map(|(_, _, own)| own).sum::<u64>(), idle.samples);
    let section = section(&html, "idle");
    for said in
        ["What the host was executing while no GPU had work", "of the thread that calls CUDA", "&lt;b&gt;"]
    {
        assert!(section.contains(said), "{said}: {section}");
    }
    // Without samples there is nothing of it.
    let html = toy().html();
    assert!(!html.contains("data-flame data-label") && !html.contains("Values over time as a table"));
}

#[test]
fn names_stay_text() {
    let told = pages::hostile();
    let html = told.html();
    assert_eq!(html.matches("<script").count(), 2, "the data and the script");
    assert_eq!(html.matches("</script").count(), 2);
    assert!(!html.contains("<img"));
    let (_, script) = html.split_once("id=\"data\">").unwrap();
    assert!(!script.contains('\u{2028}'), "no line break inside a string of a script");
    let data = data(&html);
    let texts = data["texts"].as_array().unwrap();
    assert!(texts.iter().any(|text| *text == report::printable(HOSTILE)), "it is there, as text");
    for part in html.split_once("<script").unwrap().0.split('<').skip(1) {
        // What stands in quotes is text.
        let tag: String = part.split('>').next().unwrap().split('"').step_by(2).collect();
        assert!(!tag.contains(" on") || !tag.contains('='), "<{tag}>");
    }
}

#[test]
fn alone_and_the_same_every_time() {
    for html in [toy().html(), pages::of_trace("many", pages::many(2_000, "bf16")).html()] {
        assert!(!html.contains("http://") && !html.contains("https://"), "nothing is asked of a network");
        assert!(!html.contains(" style=\"") && !html.contains("javascript:"), "the policy forbids them");
        assert!(html.contains("content=\"default-src 'none'; script-src 'sha256-"));
    }
    assert_eq!(toy().html(), toy().html());
}

#[test]
fn sizes() {
    let told = pages::of_trace("fifty thousand", pages::many(50_000, "bf16"));
    let html = told.html();
    eprintln!("50,000 kernels: {} bytes", html.len());
    assert!(html.len() < 3_000_000, "{}", html.len());
    // A minute of samples costs no more than what a page has room for.
    let plain = pages::of_trace("plain", pages::many(20_000, "bf16")).html().len();
    let sampled = pages::of_trace("sampled", browser::sampled::sampled(20_000)).html().len();
    eprintln!("values over time and stacks: {} bytes", sampled - plain);
    assert!(sampled < plain + 400_000, "{sampled}, {plain}");
    let nothing = Told::default().html();
    eprintln!("nothing: {} bytes", nothing.len());
    assert!(nothing.len() < 130_000, "{}", nothing.len());
}

/// What is too much for a page is left out, counted, and said.
#[test]
fn thinned() {
    let trace = pages::many(200_000, "bf16");
    let events = (trace.ranges.len() + trace.calls.len() + trace.activities.len()) as u64;
    let html = pages::of_trace("thinned", trace).html();
    let (ones, many) = shown(&data(&html));
    assert_eq!(ones + many, events);
    assert!(ones < 250_000 && ones > 100_000, "{ones}");
    assert!(section(&html, "timeline").contains("events are too many for one page"));
    assert!(html.len() < 4_000_000, "{}", html.len());
}

/// A program that names every range anew makes more regions than a page has room for.
#[test]
fn too_many_regions() {
    let html = pages::of_trace("unlike", pages::unlike(48_000)).html();
    let data = data(&html);
    let rows = data["tables"]["regions"]["rows"].as_u64().unwrap();
    assert!((5_000..5_200).contains(&rows), "{rows}");
    assert_eq!(data["tables"]["tree"]["name"].as_array().unwrap().len() as u64, rows);
    let note = data["tables"]["regions"]["notes"][0].as_str().unwrap();
    assert!(
        note.contains("regions with the most time")
            && note.contains("more, with")
            && note.contains("`regions.csv`"),
        "{note}"
    );
    assert!(html.len() < 3_000_000, "{}", html.len());
}
