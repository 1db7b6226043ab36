//! What a reader does with the page.

use std::path::PathBuf;

use super::chromium::Browser;
use super::pages::{self, Told};
use super::reader::{browser, canvas, show};
use super::sampled;

fn toy() -> Told {
    pages::real("toy-2025.3.1.sqlite", Some("toy-kernel.ncu-rep.gz"))
}

/// No error, no request, nothing wider than the window, nothing that jumps.
#[test]
fn loads() {
    let Some((mut browser, folder)) = browser("loads") else { return };
    let torch = pages::real("torch-nodes-2025.3.1.sqlite", None);
    let ranges = pages::real("two-2025.3.1.sqlite", Some("toy-range.ncu-rep.gz"));
    let kineto = pages::real("torch.kineto.json.gz", None);
    for told in [toy(), torch, ranges, kineto, sampled::told(), Told::default()] {
        for (width, scheme) in [(1440, "light"), (390, "dark"), (2560, "light")] {
            browser.size(width, 900, scheme);
            show(&mut browser, &folder, &told);
            let wide = browser.number("document.documentElement.scrollWidth");
            assert!(wide <= f64::from(width), "{wide} in a window of {width}");
        }
    }
    browser.size(1440, 900, "light");
    show(&mut browser, &folder, &toy());
    let shift = browser.number(
        "new Promise((done) => {
           let sum = 0;
           new PerformanceObserver((list) => list.getEntries().forEach((entry) => { sum += entry.value; }))
             .observe({ type: 'layout-shift', buffered: true });
           setTimeout(() => done(sum), 100);
         })",
    );
    assert!(shift < 0.01, "what is read stays where it is: {shift}");
}

#[test]
fn sorts_and_filters() {
    let Some((mut browser, folder)) = browser("sorts_and_filters") else { return };
    show(&mut browser, &folder, &pages::real("torch-nodes-2025.3.1.sqlite", None));
    // The kernels of the steady iterations are shown first; those of the whole recording are one click away.
    let hidden = |browser: &mut Browser| {
        browser.text("[...document.querySelectorAll('#kernels [data-table*=kernels]')].map((place) => place.hidden).join()")
    };
    assert_eq!(hidden(&mut browser), "false,true");
    browser.evaluate("document.querySelectorAll('[data-choice] button')[1].click()");
    assert_eq!(hidden(&mut browser), "true,false");
    let column = |browser: &mut Browser, at: usize| -> Vec<String> {
        let cells = browser.evaluate(&format!(
            "[...document.querySelectorAll('#table-kernels tbody tr')].map((row) => row.children[{at}].textContent)"
        ));
        cells.as_array().unwrap().iter().map(|cell| cell.as_str().unwrap().to_owned()).collect()
    };
    let calls = |browser: &mut Browser| -> Vec<u64> {
        column(browser, 3).iter().map(|text| text.replace(',', "").parse().unwrap()).collect()
    };
    let head = "document.querySelectorAll('#table-kernels thead th')[3]";
    assert_eq!(
        browser.text("document.querySelectorAll('#table-kernels thead th')[2].getAttribute('aria-sort')"),
        "descending"
    );
    // By hand, then by keyboard.
    browser.evaluate(&format!("{head}.querySelector('button').click()"));
    assert_eq!(browser.text(&format!("{head}.getAttribute('aria-sort')")), "descending");
    let down = calls(&mut browser);
    assert!(down.is_sorted_by(|a, b| a >= b) && down[0] > down[down.len() - 1], "{down:?}");
    browser.evaluate(&format!("{head}.querySelector('button').focus()"));
    browser.key("Enter");
    assert_eq!(browser.text(&format!("{head}.getAttribute('aria-sort')")), "ascending");
    let up = calls(&mut browser);
    assert!(up.is_sorted(), "{up:?}");

    let typed = |browser: &mut Browser, text: &str| {
        browser.evaluate(&format!(
            "{{ const box = document.querySelector('[data-table=kernels] input[type=search]');
               box.value = '{text}'; box.dispatchEvent(new Event('input')); }}"
        ));
    };
    typed(&mut browser, "GEMM");
    let left = column(&mut browser, 8);
    assert!(!left.is_empty() && left.iter().all(|family| family == "gemm"), "{left:?}");
    typed(&mut browser, "no such kernel");
    assert_eq!(
        browser.text("document.querySelector('#table-kernels tbody').textContent"),
        "no rows match the filter"
    );
    typed(&mut browser, "");
    assert_eq!(column(&mut browser, 0).len(), 15);

    // A branch of the tree closes and opens.
    let rows = "document.querySelectorAll('[data-tree] tbody tr').length";
    let before = browser.number(rows);
    browser.evaluate("document.querySelector('[data-tree] .fold').click()");
    assert!(browser.number(rows) < before);
    browser.evaluate("document.querySelector('[data-tree] .fold').click()");
    assert!(browser.number(rows) >= before);
}

#[test]
fn hostile_names_stay_text() {
    let Some((mut browser, folder)) = browser("hostile_names_stay_text") else { return };
    show(&mut browser, &folder, &pages::hostile());
    assert_eq!(browser.number("document.querySelectorAll('img').length"), 0.0);
    assert_eq!(browser.number("document.scripts.length"), 2.0);
    let cell = browser.text("document.querySelector('#table-kernels tbody th').textContent");
    assert!(cell.contains("</script><img src=x onerror=alert(1)>"), "{cell}");
    let (left, top, width) = canvas(&mut browser);
    for step in 0..20 {
        browser.mouse("mouseMoved", left + width * (0.2 + 0.03 * f64::from(step)), top + 54.0, 0.0);
    }
    browser.settle();
    assert_eq!(browser.number("document.querySelectorAll('img').length"), 0.0);
    assert_eq!(browser.complaints(), Vec::<String>::new());
    // What got in all the same would not run.
    let ran = browser.evaluate(
        "new Promise((done) => {
           const script = document.createElement('script');
           script.textContent = 'window.got = true';
           document.body.append(script);
           setTimeout(() => done(window.got === true), 50);
         })",
    );
    assert_eq!(ran, false, "the policy holds");
}

#[test]
fn plots_and_copies() {
    let Some((mut browser, folder)) = browser("plots_and_copies") else { return };
    show(&mut browser, &folder, &toy());
    assert_eq!(browser.number("document.querySelectorAll('.roofline .point').length"), 36.0);
    browser.evaluate(
        "{ const points = [...document.querySelectorAll('.roofline .point')];
           points.find((point) => point.getAttribute('aria-label').startsWith('copy_kernel')).focus(); }",
    );
    let tip = browser.text("document.querySelector('.plot .tip').textContent");
    assert!(tip.contains("copy_kernel") && tip.contains("DRAM: 4.") && tip.contains("of its peak"), "{tip}");
    browser.evaluate("document.querySelector('button[data-copy]').scrollIntoView({ block: 'center' })");
    let side =
        |side: &str| format!("document.querySelector('button[data-copy]').getBoundingClientRect().{side}");
    let (x, y) = (browser.number(&side("x")) + 8.0, browser.number(&side("y")) + 8.0);
    browser.evaluate(
        "{ const button = document.querySelector('button[data-copy]');
           window.changed = new Promise((done) => {
             new MutationObserver(() => done(button.textContent)).observe(button, { childList: true });
           });
           0; }",
    );
    browser.click(x, y);
    assert_eq!(browser.text("changed"), "copied");
    // Bytes of another level move the points.
    show(&mut browser, &folder, &pages::with_levels(toy()));
    let first = "document.querySelector('.roofline .point').getAttribute('cx')";
    let at_dram = browser.text(first);
    browser.evaluate("[...document.querySelectorAll('.plot .buttons button')].find((one) => one.textContent === 'L1').click()");
    assert_ne!(at_dram, browser.text(first));
    assert!(
        browser.text("document.querySelector('.roofline').textContent").contains("tensor BF16 989.0 TFLOP/s")
    );
    // The reader's choice of colours comes before the system's.
    let paper = "getComputedStyle(document.documentElement).backgroundColor";
    let light = browser.text(paper);
    browser.evaluate("document.querySelector('button[data-theme=dark]').click()");
    assert_ne!(light, browser.text(paper));
    browser.size(1440, 900, "dark");
    browser.evaluate("document.querySelector('button[data-theme=light]').click()");
    assert_eq!(light, browser.text(paper));
}

/// Thousands of rows, a thousand at a time at most.
#[test]
fn turns_pages() {
    let Some((mut browser, folder)) = browser("turns_pages") else { return };
    show(&mut browser, &folder, &pages::of_trace("unlike", pages::unlike(24_000)));
    let table = "document.querySelector('[data-table=regions]')";
    let shown = format!("{table}.querySelector('.shown').textContent");
    assert_eq!(browser.text(&shown), "1–15 of 3,002");
    browser.evaluate(&format!(
        "{{ const size = {table}.querySelector('select'); size.value = '1000'; size.dispatchEvent(new Event('change'));
           for (let page = 0; page < 3; page += 1) {table}.querySelector('[aria-label=\"next rows\"]').click(); }}"
    ));
    assert_eq!(browser.text(&shown), "3,001–3,002 of 3,002");
    assert_eq!(browser.number(&format!("{table}.querySelectorAll('tbody tr').length")), 2.0);
}

/// What those need who hear the page or use no mouse.
#[test]
fn can_be_heard() {
    let Some((mut browser, folder)) = browser("can_be_heard") else { return };
    for told in [toy(), sampled::told()] {
        show(&mut browser, &folder, &told);
        heard(&mut browser);
    }
}

fn heard(browser: &mut Browser) {
    let wrong = browser.evaluate(
        "(() => {
           const named = (node) => node.getAttribute('aria-label') || node.textContent.trim() || node.closest('label');
           const all = (what) => [...document.querySelectorAll(what)];
           const ids = all('[id]').map((node) => node.id);
           const levels = all('h1, h2, h3').map((node) => Number(node.tagName[1]));
           const jumps = levels.filter((level, at) => at > 0 && level > levels[at - 1] + 1);
           return {
             nameless: all('button, input, select, [role=region], [role=img], nav, section')
               .filter((node) => !named(node)).map((node) => node.outerHTML),
             unscoped: all('th:not([scope])').length,
             uncaptioned: all('table.data').filter((table) => !table.caption).length,
             twice: ids.filter((id, at) => ids.indexOf(id) !== at),
             jumps,
             landmarks: ['header', 'nav', 'main'].filter((name) => all(name).length !== 1),
             unreachable: all('.wide, .scroller').filter((node) => node.tabIndex < 0).length,
           };
         })()",
    );
    let nothing = serde_json::json!({
        "nameless": [], "unscoped": 0, "uncaptioned": 0, "twice": [], "jumps": [], "landmarks": [], "unreachable": 0,
    });
    assert_eq!(wrong, nothing);
}

/// The page's numbers are those of the other files.
#[test]
fn numbers_as_elsewhere() {
    let Some((mut browser, _folder)) = browser("numbers_as_elsewhere") else { return };
    let values = [
        0.0,
        0.5,
        1.5,
        2.5,
        999.4,
        999.5,
        1125.0,
        1135.0,
        12_345.678,
        1e6,
        1_125_000.0,
        2.5e9,
        7.125e12,
        3.0e15,
    ];
    let script = include_str!("../../src/documents/html/units.js");
    for (function, ours) in [
        ("duration", report::duration as fn(f64) -> String),
        ("bytes", report::bytes),
        ("percent", report::percent),
    ] {
        let scale = if function == "percent" { 1e-4 } else { 1.0 };
        let values: Vec<f64> = values.iter().map(|value| value * scale).collect();
        let shown = browser.evaluate(&format!(
            "(() => {{ {script}; return {values:?}.map((value) => {function}(value)); }})()"
        ));
        let ours: Vec<String> = values.iter().map(|value| ours(*value)).collect();
        assert_eq!(shown, serde_json::json!(ours), "{function}");
    }
}

/// `RANGEFINDER_SCREENSHOTS=folder` keeps them, and the pages they are of.
#[test]
fn screenshots() {
    let Some((mut browser, folder)) = browser("screenshots") else { return };
    let kept = std::env::var_os("RANGEFINDER_SCREENSHOTS").map(PathBuf::from);
    for (name, told, width, height, scheme, at) in [
        ("summary-light", toy(), 1440, 900, "light", "summary"),
        (
            "timeline-dark",
            pages::of_trace("20251105-141201-infer", pages::many(20_000, "bf16")),
            1440,
            900,
            "dark",
            "timeline",
        ),
        ("roofline-light", toy(), 1440, 900, "light", "roofline"),
        ("tables-dark", pages::real("torch-nodes-2025.3.1.sqlite", None), 1440, 900, "dark", "kernels"),
        ("sampled-light", sampled::told(), 1440, 1200, "light", "timeline"),
        ("stacks-dark", sampled::told(), 1440, 900, "dark", "idle"),
        ("sampled-phone", sampled::told(), 390, 1100, "light", "timeline"),
        ("stacks-phone", sampled::told(), 390, 844, "dark", "idle"),
        ("phone-light", toy(), 390, 844, "light", "summary"),
        ("phone-dark", pages::real("torch-nodes-2025.3.1.sqlite", None), 390, 844, "dark", "timeline"),
    ] {
        browser.size(width, height, scheme);
        show(&mut browser, &folder, &told);
        if at == "summary" {
            browser.evaluate("scrollTo(0, 0)");
        } else {
            browser.evaluate(&format!("document.getElementById('{at}').scrollIntoView()"));
        }
        if at == "timeline" && width > 500 {
            let (left, top, wide) = canvas(&mut browser);
            let (x, y) = (left + wide * 0.55, top + 54.0);
            browser.click(x, y);
            for _ in 0..17 {
                browser.mouse("mouseWheel", x, y, -120.0);
            }
            browser.click(x, y);
            browser.mouse("mouseMoved", x + 2.0, y, 0.0);
        }
        browser.settle();
        let picture = decoded(&browser.picture());
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 10_000, "{name}");
        if let Some(folder) = &kept {
            std::fs::write(folder.join(format!("{name}.png")), picture).unwrap();
            std::fs::write(folder.join(format!("{name}.html")), told.html()).unwrap();
        }
    }
}

/// From base 64.
fn decoded(text: &str) -> Vec<u8> {
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let values: Vec<u32> = text.chars().filter_map(|c| digits.find(c)).map(|value| value as u32).collect();
    let bytes = |four: &[u32]| {
        let bits = (0..4).fold(0, |bits, at| bits << 6 | four.get(at).copied().unwrap_or(0));
        let [_, all @ ..] = bits.to_be_bytes();
        all.into_iter().take(four.len() - 1).collect::<Vec<u8>>()
    };
    values.chunks(4).flat_map(bytes).collect()
}

/// A table is taken along: every row as CSV, those in view as Markdown.
#[test]
fn takes_a_table_along() {
    let Some((mut browser, folder)) = browser("takes_a_table_along") else { return };
    show(&mut browser, &folder, &pages::real("torch-nodes-2025.3.1.sqlite", None));
    browser.evaluate(
        "{ window.taken = {};
           URL.createObjectURL = (blob) => { blob.text().then((text) => { taken.csv = text; }); return '#'; };
           Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { taken.copied = text; } } }); }",
    );
    let buttons = "document.querySelector('[data-table=kernels] .buttons').children";
    browser.evaluate(&format!("{buttons}[0].click()"));
    browser.evaluate(&format!("{buttons}[1].click()"));
    browser.settle();
    let csv = browser.text("taken.csv");
    let rows = browser.number("document.querySelectorAll('#table-kernels tbody tr').length");
    let first = browser.text(
        "document.querySelector('#table-kernels tbody .full, #table-kernels tbody .short').textContent",
    );
    assert!(csv.lines().count() as f64 > rows, "{csv}");
    assert!(csv.contains(&first.replace('"', "\"\"")), "{first}\n{csv}");
    let copied = browser.text("taken.copied");
    assert_eq!(copied.lines().count() as f64, rows + 2.0, "{copied}");
    assert!(copied.lines().nth(1).is_some_and(|line| line.starts_with("| ---")), "{copied}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Columns are chosen, the first one stays in view, and the address leads to rows.
#[test]
fn chooses_columns_and_rows() {
    let Some((mut browser, folder)) = browser("chooses_columns_and_rows") else { return };
    show(&mut browser, &folder, &pages::real("torch-nodes-2025.3.1.sqlite", None));
    let shown =
        "[...document.querySelectorAll('#table-kernels thead th')].filter((head) => !head.hidden).length";
    let cells = "document.querySelector('#table-kernels tbody tr').children.length";
    let before = browser.number(shown);
    assert_eq!(browser.number(cells), before);
    browser.evaluate("document.querySelector('[data-table=kernels] .columns input').click()");
    assert_eq!((browser.number(shown), browser.number(cells)), (before - 1.0, before - 1.0));
    browser.evaluate("document.querySelector('[data-table=kernels] .columns input').click()");
    assert_eq!((browser.number(shown), browser.number(cells)), (before, before));
    // A link to rows shows the table that was hidden, and only those rows.
    browser.evaluate("{ location.hash = '#kernels=xmma'; }");
    browser.settle();
    assert_eq!(browser.text("String(document.querySelector('[data-table=kernels]').hidden)"), "false");
    let names = browser.text(
        "[...document.querySelectorAll('#table-kernels tbody .short')].map((name) => name.title).join('|')",
    );
    assert!(!names.is_empty() && names.split('|').all(|name| name.contains("xmma")), "{names}");
    // What is limited leads to its row.
    let link = browser.text("document.querySelector('#findings a[data-rows]').getAttribute('href')");
    browser.evaluate("document.querySelector('#findings a[data-rows]').click()");
    browser.settle();
    let table = link.trim_start_matches('#').split('=').next().unwrap();
    assert_eq!(browser.number(&format!("document.querySelectorAll('#table-{table} tbody tr').length")), 1.0);
    // However far to the right.
    browser.size(390, 900, "light");
    browser.evaluate("{ location.hash = '#kernels='; document.querySelector('#table-kernels').parentElement.scrollLeft = 200; }");
    browser.settle();
    let left = |what: &str| format!("document.querySelector('{what}').getBoundingClientRect().left");
    let frame =
        browser.number("document.querySelector('#table-kernels').parentElement.getBoundingClientRect().left");
    let head = browser.number(&left("#table-kernels tbody th"));
    assert!((head - frame).abs() < 3.0, "{head} at {frame}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
