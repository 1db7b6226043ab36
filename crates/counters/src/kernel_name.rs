//! Names of kernels as people know them.

/// `f<(int)3>` → `f<3>`, as ncu prints it since 2025 and every demangler writes it.
pub(crate) fn without_casts(name: &str) -> String {
    const CAST: &str = "(int)";
    let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let mut plain = String::with_capacity(name.len());
    for (at, part) in name.split(CAST).enumerate() {
        let argument = plain.ends_with(['<', ' ', ',']) && number(part);
        if at > 0 && !argument {
            plain.push_str(CAST);
        }
        plain.push_str(part);
    }
    plain
}

/// A function without return type, namespaces, template arguments and parameters.
pub(crate) fn bare(name: &str) -> &str {
    const ANONYMOUS: &str = "(anonymous namespace)::";
    let from = name.rfind(ANONYMOUS).map_or(0, |at| at + ANONYMOUS.len());
    let named = &name[from..];
    let head = &named[..named.find(['<', '(']).unwrap_or(named.len())];
    let bare = head.rsplit([' ', ':']).next().unwrap_or_default();
    if bare.is_empty() { name } else { bare }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts() {
        for (stored, shown) in [
            ("void f<(int)3>(float *)", "void f<3>(float *)"),
            ("void f<(int)-1, (int)2, (unsigned long)1>(int)", "void f<-1, 2, (unsigned long)1>(int)"),
            ("f(int)", "f(int)"),
            ("operator (int)x", "operator (int)x"),
            ("(int)", "(int)"),
        ] {
            assert_eq!(without_casts(stored), shown);
        }
    }

    #[test]
    fn bare_names() {
        for (name, expected) in [
            ("copy_kernel(const float4 *, float4 *, unsigned long)", "copy_kernel"),
            ("void at::native::vectorized<4, at::F<float>>(int, float)", "vectorized"),
            ("void (anonymous namespace)::softmax<float>(float *)", "softmax"),
            ("ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn"),
            ("<unnamed>", "<unnamed>"),
            ("", ""),
        ] {
            assert_eq!(bare(name), expected, "{name}");
        }
    }
}
