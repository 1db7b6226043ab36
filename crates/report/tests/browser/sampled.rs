//! Values over time and the host's stacks: a page that has them, and what a reader does with it.

use serde_json::Value;
use trace::{Frame, NONE, Quantity, Series, SeriesSource, StackNode, StackSample, ThreadState, Trace};

use super::pages::{self, Told};
use super::reader::{browser, canvas, show};

/// Work of many kernels, with counters every 20 us, power every 1 ms, a lost stretch, and stacks every 50 us.
pub fn sampled(kernels: usize) -> Trace {
    let mut trace = pages::many(kernels, "bf16");
    let (begin, end) = (trace.begin, trace.end);
    let quantities = [
        Quantity::SmActive,
        Quantity::TensorActive,
        Quantity::DramRead,
        Quantity::DramWrite,
        Quantity::SmClock,
        Quantity::PcieReadBytes,
    ];
    let mut counters = Series::new(0, SeriesSource::Counters, &quantities);
    counters.interval_ns = 20_000;
    let lost = (begin + (end - begin) * 6 / 10, begin + (end - begin) * 7 / 10);
    for (row, at) in (begin..end).step_by(20_000).enumerate() {
        if at >= lost.0 && at < lost.1 {
            continue;
        }
        let wave = (row as f32 / 40.0).sin().abs();
        let peak = if row == 77 { 100.0 } else { 80.0 * wave };
        let clock = if row > 500 { 1_755.0 } else { 1_980.0 };
        counters.push(at, at + 20_000, [peak, 40.0 * wave, 60.0 * wave, 20.0 * wave, clock, 64_000.0 * wave]);
    }
    counters.lost.push(lost);
    let mut driver = Series::new(0, SeriesSource::Nvml, &[Quantity::Power, Quantity::Temperature]);
    driver.interval_ns = 1_000_000;
    for (row, at) in (begin..end).step_by(1_000_000).enumerate() {
        driver.push(at, at, [400.0 + 250.0 * (row as f32 / 3.0).sin(), 55.0]);
    }
    trace.series = vec![counters, driver];
    stacks(&mut trace);
    trace
}

fn stacks(trace: &mut Trace) {
    let places = [
        ("<module>", "/srv/app/infer.py", 212),
        ("generate", "/srv/app/infer.py", 148),
        ("forward", "/srv/lib/transformers/models/llama/modeling_llama.py", 482),
        ("apply_rotary_pos_emb", "/srv/lib/transformers/models/llama/modeling_llama.py", 182),
        ("sample", "/srv/app/sampling.py", 31),
        ("<b>decode</b>", "/srv/app/tokens.py", 9),
        ("cuLaunchKernel", "", 0),
    ];
    for (function, file, line) in places {
        let (function, file) = (trace.strings.intern(function), trace.strings.intern(file));
        trace.stacks.frames.push(Frame { function, file, line });
    }
    for (caller, frame) in [(NONE, 0), (0, 1), (1, 2), (2, 3), (1, 4), (4, 5), (3, 6)] {
        trace.stacks.nodes.push(StackNode { caller, frame });
    }
    for (row, at) in (trace.begin..trace.end).step_by(50_000).enumerate() {
        let (stack, state) = match row % 10 {
            0..=3 => (3, ThreadState::Running),
            4 => (2, ThreadState::Running),
            5 => (6, ThreadState::Running),
            6 => (4, ThreadState::WaitsForInterpreter),
            7 => (5, ThreadState::Blocked),
            _ => (5, ThreadState::Running),
        };
        trace.stacks.samples.push(StackSample { at, thread: 0, stack, state });
    }
}

pub fn told() -> Told {
    pages::of_trace("sampled", sampled(2_000))
}

#[test]
fn curves_are_shown_and_told() {
    let Some((mut browser, folder)) = browser("curves_are_shown_and_told") else { return };
    show(&mut browser, &folder, &told());
    let boxes = "[...document.querySelectorAll('.timeline .tools label')].map((label) => label.textContent.trim()).join()";
    assert_eq!(browser.text(boxes), "GPU,regions,CUDA calls,values over time,more values");
    // Two streams and their head, then the curves.
    let (left, top, width) = canvas(&mut browser);
    let y = top + 22.0 + 22.0 + 2.0 * 21.0 + 20.0;
    browser.mouse("mouseMoved", left + width * 0.3, y, 0.0);
    browser.settle();
    let tip = browser.text("document.querySelector('.timeline .tip').textContent");
    assert!(tip.starts_with("SM active: ") && tip.contains(" %"), "{tip}");
    browser.mouse("mouseMoved", left + width * 0.3, y + 4.0 * 39.0, 0.0);
    browser.settle();
    let tip = browser.text("document.querySelector('.timeline .tip').textContent");
    assert!(tip.starts_with("power: ") && tip.contains(" W"), "{tip}");
    // Where samples were lost there is no value.
    browser.mouse("mouseMoved", left + 132.0 + (width - 132.0) * 0.65, y, 0.0);
    browser.settle();
    assert!(browser.evaluate("document.querySelector('.timeline .tip').hidden") == true);
    // From track to track, and from value to value, by keyboard.
    browser.evaluate("document.querySelector('.scroller').focus()");
    let chosen = "document.querySelector('.timeline .details b').textContent";
    for _ in 0..3 {
        browser.key(".");
    }
    browser.settle();
    let first = browser.text(chosen);
    assert!(first.starts_with("SM active: "), "{first}");
    browser.key("]");
    browser.settle();
    let next = browser.text(chosen);
    assert!(next.starts_with("SM active: ") && next != first, "{first}, {next}");
    browser.key(".");
    browser.settle();
    assert!(browser.text(chosen).starts_with("tensor active: "));
    // More of them, and none.
    let picture = browser.picture();
    let height = "document.querySelector('.scroller').scrollHeight";
    let before = browser.number(height);
    let press = |browser: &mut super::chromium::Browser, at: usize| {
        browser.evaluate(&format!("document.querySelectorAll('.timeline .tools label input')[{at}].click()"));
        browser.settle();
    };
    press(&mut browser, 4);
    assert_eq!(browser.number(height), before + 2.0 * 39.0);
    press(&mut browser, 3);
    assert!(browser.number(height) < before);
    assert_ne!(picture, browser.picture());
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn stacks_zoom_and_tell() {
    let Some((mut browser, folder)) = browser("stacks_zoom_and_tell") else { return };
    show(&mut browser, &folder, &told());
    let bars = "[...document.querySelectorAll('[data-flame] .flame > div')]";
    let names = format!("{bars}.map((bar) => bar.textContent).join('|')");
    let all = browser.text(&names);
    for name in ["<module> infer.py:212", "<b>decode</b> tokens.py:9", "(blocked)"] {
        assert!(all.contains(name), "{all}");
    }
    assert!(all.contains("(waits for the Python interpreter lock)"), "{all}");
    assert_eq!(browser.number("document.querySelectorAll('[data-flame] .flame b').length"), 0.0);
    let rotary = format!("{bars}.find((bar) => bar.textContent.startsWith('apply_rotary'))");
    let wide = format!("{rotary}.getBoundingClientRect().width");
    let before = browser.number(&wide);
    let whole = browser.number("document.querySelector('[data-flame] .flame').clientWidth");
    assert!(before > 0.3 * whole && before < 0.7 * whole, "{before} of {whole}");
    browser.evaluate(&format!("{rotary}.scrollIntoView({{ block: 'center' }})"));
    let side = |side: &str| format!("{rotary}.getBoundingClientRect().{side}");
    let (x, y) = (browser.number(&side("x")) + 9.0, browser.number(&side("y")) + 9.0);
    browser.mouse("mouseMoved", x, y, 0.0);
    browser.settle();
    let details = browser.text("document.querySelector('[data-flame] .details').textContent");
    assert!(details.contains("modeling_llama.py:182") && details.contains(" %, "), "{details}");
    browser.click(x, y);
    browser.settle();
    assert!((browser.number(&wide) - whole).abs() < 3.0, "it takes the whole width");
    // Back, and the same by keyboard.
    browser.evaluate("document.querySelector('[data-flame] .tools button').click()");
    assert!((browser.number(&wide) - before).abs() < 1.0);
    browser.evaluate("document.querySelector('[data-flame] .flame [tabindex=\"0\"]').focus()");
    for key in ["ArrowDown", "ArrowDown", "ArrowRight"] {
        browser.key(key);
    }
    let focus = "document.activeElement.getAttribute('aria-label')";
    assert!(browser.text(focus).starts_with("sample, /srv/app/sampling.py:31"), "{}", browser.text(focus));
    browser.key("Enter");
    assert!(browser.text(focus).starts_with("sample, "), "zoomed, and still there");
    browser.key("Escape");
    assert_eq!(browser.text(&names), all);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Regions, operators and kernels: zoomed by mouse and keyboard, told, and shown in the timeline.
#[test]
fn icicles_zoom_and_tell() {
    let Some((mut browser, folder)) = browser("icicles_zoom_and_tell") else { return };
    show(&mut browser, &folder, &pages::real("demo-2025.3.1.sqlite", None));
    let place = "[...document.querySelectorAll('[data-icicle]')].find((place) => !place.hidden && place.childElementCount)";
    let bars = format!("[...{place}.querySelectorAll('.flame > div')]");
    assert!(
        browser.text(&format!("{place}.querySelector('h3').textContent")).starts_with("GPU time by region")
    );
    let names = format!("{bars}.map((bar) => bar.textContent).join('|')");
    let all = browser.text(&names);
    assert!(
        browser.number(&format!("{bars}.filter((bar) => bar.className === 'bar-kernel').length")) > 0.0,
        "{all}"
    );
    let deepest = format!("{bars}.find((bar) => bar.className === 'bar-kernel')");
    let label = browser.text(&format!("{deepest}.getAttribute('aria-label')"));
    assert!(
        label.contains("GPU time ") && label.contains(", of all ") && label.contains(", mean "),
        "{label}"
    );
    browser.evaluate(&format!("{deepest}.scrollIntoView({{ block: 'center' }})"));
    let side = |side: &str| format!("{deepest}.getBoundingClientRect().{side}");
    let (x, y) = (browser.number(&side("x")) + 3.0, browser.number(&side("y")) + 9.0);
    browser.click(x, y);
    browser.settle();
    let whole = browser.number(&format!("{place}.querySelector('.flame').clientWidth"));
    assert!((browser.number(&side("width")) - whole).abs() < 3.0, "it takes the whole width");
    // From there into the timeline.
    browser.evaluate(&format!("{place}.querySelector('.details .find').click()"));
    let found = browser.text("document.querySelector('[data-timeline] .search + .shown').textContent");
    assert!(found.ends_with(" found") && !found.starts_with("0 "), "{found}");
    browser.evaluate(&format!("{bars}[0].focus()"));
    browser.key("Escape");
    assert_eq!(browser.text(&names), all);
    // What idle devices wait for.
    let idle = "document.querySelector('[data-icicle=\"idle\"]')";
    let text = browser.text(&format!(
        "[...{idle}.querySelectorAll('.flame > div')].map((bar) => bar.textContent).join('|')"
    ));
    assert!(text.starts_with("GPU 0|"), "{text}");
    assert!(text.contains("|host") || text.contains("|launch") || text.contains("|sync"), "{text}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Every frame of the page with its share, from its data.
pub fn frames(data: &Value) -> Vec<(String, u64, u64)> {
    let list = |name: &str| data["flame"][name].as_array().unwrap().clone();
    let text = |id: &Value| data["texts"][id.as_u64().unwrap() as usize].as_str().unwrap().to_owned();
    let numbers = |name: &str| list(name).iter().map(|number| number.as_u64().unwrap()).collect::<Vec<_>>();
    let (of, own) = (numbers("of"), numbers("own"));
    list("name").iter().enumerate().map(|(at, name)| (text(name), of[at], own[at])).collect()
}
