//! What a reader does with a comparison.

use analysis::compare::compare;
use analysis::{Options, main_loop, profile};
use report::{Around, Compared, Diff, Recorded, compared_html};
use trace::Trace;

use super::chromium::Browser;
use super::pages;
use super::reader::browser;
use super::sampled;

/// The page about two recordings.
pub fn page(mut before: Trace, mut after: Trace) -> String {
    before.fold_names();
    after.fold_names();
    let profiles = [&before, &after].map(|trace| [profile(trace, &Options::default())]);
    let twice = [profiles[0][0].clone(), profiles[0][0].clone()];
    let comparison = compare(&twice, &profiles[1], 0.01);
    let around = [Around {
        name: "driver".to_owned(),
        before: Some("580".to_owned()),
        after: Some("590 <b>".to_owned()),
    }];
    let notes = ["before, 1 of 1 recordings are incomplete".to_owned()];
    let diff = Diff::new(["runs/before", "runs/after"], &comparison, &around, &notes);
    let loops = [&before, &after].map(main_loop);
    let recorded = [(&before, 0), (&after, 1)].map(|(trace, at): (&Trace, usize)| {
        Some(Recorded { name: "runs/one", trace, main: loops[at].as_ref() })
    });
    compared_html(&Compared { diff: &diff, recorded })
}

fn show(browser: &mut Browser, folder: &tempfile::TempDir, html: &str) {
    let file = folder.path().join("comparison.html");
    std::fs::write(&file, html).unwrap();
    browser.open(&file);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Both pictures.
fn pictures(browser: &mut Browser) -> [String; 2] {
    browser.settle();
    [0, 1].map(|at| browser.text(&format!("document.querySelectorAll('.scroller canvas')[{at}].toDataURL()")))
}

#[test]
fn what_is_done_to_one_timeline_is_done_to_the_other() {
    let Some((mut browser, folder)) = browser("what_is_done_to_one_timeline_is_done_to_the_other") else {
        return;
    };
    show(&mut browser, &folder, &page(pages::many(2_000, "bf16"), pages::many(3_000, "half")));
    assert_eq!(browser.number("document.querySelectorAll('.timeline .scroller').length"), 2.0);
    let status = "document.querySelector('[data-pair] .shown').textContent";
    let first = browser.text(status);
    assert!(first.starts_with("this iteration: ") && first.contains(" before, "), "{first}");
    let aligned = pictures(&mut browser);
    for at in [0, 1] {
        let before = pictures(&mut browser);
        browser.evaluate(&format!("document.querySelectorAll('.scroller')[{at}].focus()"));
        browser.key("+");
        let after = pictures(&mut browser);
        assert!(before[0] != after[0] && before[1] != after[1], "the keyboard zooms both");
    }
    // The iterations of both, one by one, and back.
    browser.evaluate("document.querySelectorAll('.scroller')[1].focus()");
    browser.key("n");
    let next = browser.text(status);
    assert!(next.starts_with("this iteration: "), "{next}");
    browser.key("p");
    assert_eq!(browser.text(status), first);
    assert_eq!(pictures(&mut browser), aligned, "both begin with the iteration again");
    for _ in 0..10_000 {
        browser.key("n");
        if browser.text("document.getElementById('said').textContent").contains("no further iteration") {
            break;
        }
    }
    let said = browser.text("document.getElementById('said').textContent");
    assert_eq!(said, "there is no further iteration on both sides");
    // From the table to both timelines.
    browser.evaluate("document.querySelector('[data-table=parts] .find').click()");
    let found =
        "[...document.querySelectorAll('.timeline .search + .shown')].map((one) => one.textContent).join()";
    assert!(browser.text(found).contains("found"), "{}", browser.text(found));
}

/// Bars, by hand and by keyboard, on both sides.
#[test]
fn bars_of_what_changed() {
    let Some((mut browser, folder)) = browser("bars_of_what_changed") else { return };
    // Another kernel does what one did.
    let mut without = pages::many(2_000, "bf16");
    without.activities.detail.iter_mut().filter(|launch| **launch == 7).for_each(|launch| *launch = 6);
    show(&mut browser, &folder, &page(pages::many(2_000, "bf16"), without));
    for place in ["device", "host"] {
        let bars = format!("document.querySelectorAll('[data-difference={place}] [role=treeitem]')");
        assert!(browser.number(&format!("{bars}.length")) > 3.0, "{place}");
        let first = browser.text(&format!("{bars}[0].getAttribute('aria-label')"));
        for word in ["before ", "after ", "change "] {
            assert!(first.contains(word), "{first}");
        }
        browser.evaluate(&format!("{bars}[0].focus()"));
        browser.key("ArrowDown");
        browser.key("Enter");
        let inside = browser.text("document.activeElement.getAttribute('aria-level')");
        assert_eq!(inside, "2", "the keyboard goes into {place}");
        let disabled = format!("document.querySelector('[data-difference={place}] .tools button').disabled");
        assert_eq!(browser.evaluate(&disabled), false, "zoomed");
        browser.key("Escape");
        assert_eq!(browser.evaluate(&disabled), true, "and back");
    }
    // What is gone has a width among the bars of before alone.
    let names = "[...document.querySelectorAll('[data-difference=device] [role=treeitem]')].map((bar) => bar.textContent).join()";
    let side = |browser: &mut Browser, at: usize| {
        browser.evaluate(&format!(
            "document.querySelectorAll('[data-difference=device] .buttons button')[{at}].click()"
        ));
        browser.text(names)
    };
    let (before, after) = (side(&mut browser, 0), side(&mut browser, 1));
    assert!(before.contains("tiny_bf16 (gone) -") && !after.contains("tiny_bf16"), "{before}; {after}");
    assert!(after.contains("topk_bf16 +"), "{after}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// No error, no request, nothing wider than the window.
#[test]
fn loads_light_dark_and_narrow() {
    let Some((mut browser, folder)) = browser("loads_light_dark_and_narrow") else { return };
    let real = |name: &str| pages::real(name, None).trace.unwrap();
    for html in [
        page(pages::many(500, "bf16"), pages::many(400, "half")),
        page(sampled::sampled(2_000), sampled::sampled(3_000)),
        page(real("toy-2025.3.1.sqlite"), real("toy-graphnode-2025.3.1.sqlite")),
        page(real("torch.kineto.json.gz"), Trace::default()),
        page(Trace::default(), Trace::default()),
    ] {
        for (width, scheme) in [(1440, "light"), (390, "dark"), (390, "light"), (2560, "dark")] {
            browser.size(width, 900, scheme);
            show(&mut browser, &folder, &html);
            let wide = browser.number("document.documentElement.scrollWidth");
            assert!(wide <= f64::from(width), "{wide} in a window of {width}");
        }
    }
}

#[test]
fn hostile_names_in_a_comparison_stay_text() {
    let Some((mut browser, folder)) = browser("hostile_names_in_a_comparison_stay_text") else { return };
    let trace = || pages::hostile().trace.unwrap();
    let html = page(trace(), trace());
    assert_eq!(html.matches("<script").count(), 2, "the data and the script");
    assert!(!html.contains("<img") && !html.contains(" style=\"") && !html.contains("590 <b>"));
    show(&mut browser, &folder, &html);
    assert_eq!(browser.number("document.querySelectorAll('img').length"), 0.0);
}

/// Twice as many events take about twice as long as a report of one recording.
#[test]
fn opens_at_once_with_50_000_kernels_on_each_side() {
    let Some((mut browser, folder)) = browser("opens_at_once_with_50_000_kernels_on_each_side") else {
        return;
    };
    let both = page(pages::many(50_000, "bf16"), pages::many(50_000, "half"));
    let one = pages::of_trace("one", pages::many(50_000, "bf16")).html();
    let mut shortest = [f64::INFINITY; 2];
    for _ in 0..5 {
        for (shortest, html) in shortest.iter_mut().zip([&one, &both]) {
            show(&mut browser, &folder, html);
            // From the request to the first picture behind the script.
            let time = browser.number(
                "new Promise((done) => requestAnimationFrame(() => {
                   const { domContentLoadedEventEnd } = performance.getEntriesByType('navigation')[0];
                   done(domContentLoadedEventEnd);
                 }))",
            );
            *shortest = shortest.min(time);
        }
    }
    let [one, both] = shortest;
    eprintln!("open: a report {one:.0} ms, a comparison {both:.0} ms");
    assert!(both < 4.0 * one, "{both:.0} ms against {one:.0} ms");
    let kernels = browser.number(
        "[...document.querySelectorAll('#timelines tbody tr')].map((row) => row.children[1]?.textContent ?? '0')
           .reduce((sum, text) => sum + Number(text.replaceAll(',', '')), 0)",
    );
    assert!(kernels > 100_000.0, "everything is in it: {kernels}");
}
