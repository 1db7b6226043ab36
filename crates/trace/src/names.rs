//! Names of kernels and calls, as people know them.

/// `_Z11scal_kernelIfEvPf` → `void scal_kernel<float>(float*)`; other names stay as they are.
pub fn demangled(name: &str) -> String {
    if !name.starts_with("_Z") {
        return name.to_owned();
    }
    // A short name may be made to grow without end: the text is cut off, and the name kept.
    let options = cpp_demangle::DemangleOptions::new();
    let mut text = Limited(String::new());
    let parsed = cpp_demangle::Symbol::new(name).ok();
    match parsed.map(|symbol| symbol.structured_demangle(&mut text, &options)) {
        Some(Ok(())) => text.0,
        _ => name.to_owned(),
    }
}

/// A text that refuses to grow too long.
struct Limited(String);

impl cpp_demangle::DemangleWrite for Limited {
    fn write_string(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Nobody reads longer names.
const LONGEST: usize = 64 << 10;

/// The bare name of a function: without return type, namespaces, template arguments and parameters.
pub fn short(name: &str) -> &str {
    let (mut depth, mut start, mut end) = (0usize, 0, name.len());
    for (at, c) in name.char_indices() {
        match c {
            // `(anonymous namespace)::` is part of a name, a list of parameters is not.
            '(' if depth == 0 && !name[at..].starts_with("(anonymous") => {
                end = end.min(at);
                break;
            }
            '<' | '(' => {
                if depth == 0 && c == '<' {
                    end = end.min(at);
                }
                depth += 1;
            }
            '>' | ')' => depth = depth.saturating_sub(1),
            ' ' | ':' if depth == 0 => (start, end) = (at + 1, name.len()),
            _ => {}
        }
    }
    name.get(start..end).filter(|short| !short.is_empty()).unwrap_or(name)
}

/// `cudaLaunchKernel_v7000` and `cudaLaunchKernel_ptsz_v7000` → `cudaLaunchKernel`. The
/// driver's `cuMemcpyHtoD_v2` stays: there it is a part of the name.
pub fn call(name: &str) -> &str {
    let versioned = |text: &&str| text.len() > 4 && text[1..].bytes().all(|byte| byte.is_ascii_digit());
    let plain = match name.rsplit_once("_v") {
        Some((start, _)) => {
            let version = &name[start.len() + 1..];
            if versioned(&version) { start } else { name }
        }
        None => name,
    };
    plain.strip_suffix("_ptsz").or_else(|| plain.strip_suffix("_ptds")).unwrap_or(plain)
}

/// 12040 → 12.4
pub(crate) fn cuda_version(number: u64) -> String {
    match number {
        1000.. => format!("{}.{}", number / 1000, number % 1000 / 10),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels() {
        for (mangled, name, bare) in [
            ("_Z11tiny_kernelPf", "tiny_kernel(float*)", "tiny_kernel"),
            ("_Z12templ_kernelILi7EEvPf", "void templ_kernel<7>(float*)", "templ_kernel"),
            (
                "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
                "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, (unsigned long)1> >(int, at::native::FillFunctor<float>, std::array<char*, (unsigned long)1>)",
                "vectorized_elementwise_kernel",
            ),
            ("sm90_xmma_gemm_f32", "sm90_xmma_gemm_f32", "sm90_xmma_gemm_f32"),
            ("_Zbroken", "_Zbroken", "_Zbroken"),
        ] {
            assert_eq!(demangled(mangled), name);
            assert_eq!(short(name), bare, "{name}");
        }
        for (name, bare) in [
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::F<float>>(int, float)",
                "vectorized_elementwise_kernel",
            ),
            ("void (anonymous namespace)::softmax_warp<float>(float*)", "softmax_warp"),
            ("", ""),
        ] {
            assert_eq!(short(name), bare, "{name}");
        }
    }

    #[test]
    fn calls() {
        assert_eq!(call("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
        assert_eq!(call("cudaLaunchKernelExC_ptsz_v11060"), "cudaLaunchKernelExC");
        assert_eq!(call("cuMemcpyHtoD_v2"), "cuMemcpyHtoD_v2");
        assert_eq!(call("cuLaunchKernel"), "cuLaunchKernel");
    }
}
