//! What was meant by a name that is not there.

/// The name that is most like it, if no more letters differ than `most` says of that name. Two letters in the wrong order are
/// one mistake.
pub fn nearest<Name: AsRef<str> + Ord>(
    given: &str,
    names: impl IntoIterator<Item = Name>,
    most: impl Fn(&str) -> usize,
) -> Option<Name> {
    let named = |name: Name| (strsim::damerau_levenshtein(given, name.as_ref()), name);
    let near = names.into_iter().map(named).filter(|(distance, name)| *distance <= most(name.as_ref()));
    near.min().map(|(_, name)| name)
}
