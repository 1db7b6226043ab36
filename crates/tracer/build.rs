//! The library is linked with nothing else.
//!
//! Without a C library and start files it loads into any program, static ones included, and calls
//! only what it finds there. `-z defs` makes every symbol that is not found at link time an error.
//! One of them is `rangefinder_tracer_can_panic`: the build fails if any path of the code could
//! panic.

fn main() {
    for argument in ["-nostdlib", "-Wl,-z,defs", "-Wl,-z,now", "-Wl,-z,nodelete", "-Wl,--hash-style=both"] {
        println!("cargo::rustc-link-arg-cdylib={argument}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
