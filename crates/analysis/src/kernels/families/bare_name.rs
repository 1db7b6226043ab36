//! The qualified name of a function, without template arguments, parameters and return type.

/// `void at::native::(anonymous namespace)::softmax<float>(float*)` is `at::native::::softmax`;
/// a mangled name gives its identifiers.
pub(super) fn bare_name(kernel: &str) -> String {
    match kernel.strip_prefix("_Z") {
        Some(mangled) => identifiers(mangled),
        None => outside_of_brackets(kernel),
    }
}

/// Template arguments hold `operator()` and comparisons in parentheses, so an angle bracket counts
/// only outside of parentheses.
fn outside_of_brackets(kernel: &str) -> String {
    let mut bare = String::with_capacity(kernel.len().min(128));
    let (mut angles, mut parentheses) = (0_u32, 0_u32);
    for letter in kernel.chars() {
        match letter {
            '(' => parentheses += 1,
            ')' => parentheses = parentheses.saturating_sub(1),
            '<' if parentheses == 0 => angles += 1,
            '>' if parentheses == 0 => angles = angles.saturating_sub(1),
            _ if angles == 0 && parentheses == 0 => bare.push(letter),
            _ => {}
        }
    }
    let name = bare.split_whitespace().next_back().unwrap_or_default();
    name.to_owned()
}

/// The identifiers of a name mangled after the Itanium rules, up to its template arguments.
fn identifiers(mangled: &str) -> String {
    let mut rest = mangled.trim_start_matches(['N', 'L', 'K', 'V', 'r']);
    let mut names = Vec::new();
    loop {
        rest = rest.strip_prefix("St").unwrap_or(rest).trim_start_matches('L');
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(length) = rest[..digits].parse::<usize>() else { break };
        let Some(name) = rest[digits..].get(..length) else { break };
        if !name.starts_with("_GLOBAL__N_") {
            names.push(name);
        }
        rest = &rest[digits + length..];
    }
    names.join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_is_without_what_it_was_made_with() {
        for (kernel, bare) in [
            ("fused_moe_kernel", "fused_moe_kernel"),
            ("ampere_sgemm_128x32_nn", "ampere_sgemm_128x32_nn"),
            ("void flash_fwd_kernel<Traits<128, (bool)1>, A<B> >(Params)", "flash_fwd_kernel"),
            ("void at::native::(anonymous namespace)::softmax<float>(float*)", "at::native::::softmax"),
            (
                "std::enable_if<(((8)>(0)))&&vllm::T<X>::v, void>::type vllm::rms_norm<X>(X*)",
                "vllm::rms_norm",
            ),
            ("void k<f(T&)::{lambda()#2}::operator()() const::{lambda(float)#1}, 2>(int)", "k"),
            ("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdE", "ck_tile::kentry"),
            ("_ZN2at6native12_GLOBAL__N_16kernelIfEEvi", "at::native::kernel"),
            ("_Z9my_kernelPf", "my_kernel"),
            ("_ZL4copyPKv", "copy"),
            ("_Z99short", ""),
            ("_Z", ""),
            ("", ""),
            ("void k<unclosed", "k"),
            ("a>b)c", "abc"),
        ] {
            assert_eq!(bare_name(kernel), bare, "{kernel}");
        }
    }
}
