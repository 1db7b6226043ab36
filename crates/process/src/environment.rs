//! The environment that a program is started with.

use std::ffi::OsString;

/// Our environment with `variables` set or unset.
pub fn environment(variables: &[(String, Option<String>)]) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = std::env::vars_os()
        .filter(|(name, _)| !variables.iter().any(|(other, _)| name == other.as_str()))
        .collect();
    for (at, (name, value)) in variables.iter().enumerate() {
        let last = variables.iter().skip(at + 1).all(|(later, _)| later != name);
        if let (true, Some(value)) = (last, value) {
            environment.push((name.into(), value.into()));
        }
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_variables_win_and_null_unsets() {
        let set = |value: &str| Some(value.to_owned());
        let environment = environment(&[
            ("A_TEST_NAME".to_owned(), set("1")),
            ("A_TEST_NAME".to_owned(), set("2")),
            ("PATH".to_owned(), None),
        ]);
        assert!(environment.contains(&("A_TEST_NAME".into(), "2".into())));
        assert!(!environment.contains(&("A_TEST_NAME".into(), "1".into())));
        assert!(environment.iter().all(|(name, _)| name != "PATH"));
    }
}
