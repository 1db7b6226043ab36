//! The forms that `docs/secrets.md` promises, each tried on text nobody told us anything about.

use super::marks::MASK;
use super::redactor::Redactor;
use super::shapes::SHAPES;
use super::stream::{Masking, StreamScrubber};

const FORMS: &str = include_str!("../../rangefinder/tests/data/secret-forms.tsv");
const HARMLESS: &str = include_str!("../../rangefinder/tests/data/harmless-forms.txt");
const DOCUMENT: &str = include_str!("../../../docs/secrets.md");

/// What each is a form of, and the text with its secret between `«` and `»`.
fn forms() -> impl Iterator<Item = (&'static str, String)> {
    let line = |line: &'static str| line.split_once('\t').map(|(of, text)| (of, text.replace("\\n", "\n")));
    FORMS.lines().filter_map(line)
}

fn masked_by_hand(form: &str) -> String {
    let (before, rest) = form.split_once('«').unwrap();
    let (_, after) = rest.split_once('»').unwrap();
    format!("{before}{MASK}{after}")
}

fn unmarked(form: &str) -> String {
    form.replace(['«', '»'], "")
}

#[test]
fn every_form_is_masked_and_nothing_around_it() {
    let redactor = Redactor::new(std::iter::empty(), &[]);
    let wrong: Vec<String> = forms()
        .map(|(_, form)| (masked_by_hand(&form), redactor.text(&unmarked(&form))))
        .filter(|(expected, masked)| expected != masked)
        .map(|(expected, masked)| format!("{expected}\n  is {masked}"))
        .collect();
    assert!(forms().count() >= 60);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn harmless_forms_stay_as_they_are() {
    let redactor = Redactor::new(std::iter::empty(), &[]);
    let wrong: Vec<String> = HARMLESS
        .lines()
        .map(|form| redactor.text(form))
        .zip(HARMLESS.lines())
        .filter(|(masked, form)| masked != form)
        .map(|(masked, form)| format!("{form}\n  became {masked}"))
        .collect();
    assert!(HARMLESS.lines().count() >= 40);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Byte by byte, and whatever stands around them.
#[test]
fn forms_in_a_stream() {
    let redactor = Redactor::new(std::iter::empty(), &[]);
    for (_, form) in forms() {
        let line = format!("step 3\n{}\nstep 4\n", unmarked(&form));
        let mut scrubber = StreamScrubber::new(redactor.clone(), Masking::Stars);
        let mut out = Vec::new();
        for byte in line.as_bytes() {
            scrubber.write(&[*byte], &mut out).unwrap();
        }
        scrubber.finish(&mut out).unwrap();
        let expected = format!("step 3\n{}\nstep 4\n", masked_by_hand(&form));
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

/// The page lists every prefix, and every kind of form has a row.
#[test]
fn the_documentation_lists_what_is_caught() {
    let missing: Vec<String> = SHAPES
        .iter()
        .map(|shape| (shape.of, format!("`{}`", shape.prefix)))
        .filter(|(of, prefix)| {
            !DOCUMENT
                .lines()
                .any(|line| line.starts_with(&format!("| {of} |")) && line.contains(prefix.as_str()))
        })
        .map(|(of, prefix)| format!("{of}: {prefix}"))
        .chain(forms().map(|(of, _)| of.to_owned()).filter(|of| !DOCUMENT.contains(&format!("| {of} |"))))
        .collect();
    assert!(missing.is_empty(), "docs/secrets.md does not say: {missing:?}");
}
