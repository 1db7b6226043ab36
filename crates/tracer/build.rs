//! How the library is linked: with nothing.
//!
//! No C library, no start files: it loads into whatever program there is, static ones included,
//! and calls only what it finds there. `-z defs` makes every symbol that is not found at link
//! time an error, `rangefinder_tracer_can_panic` among them: the build fails if any path of the
//! code could panic.

fn main() {
    for argument in ["-nostdlib", "-Wl,-z,defs", "-Wl,-z,now", "-Wl,-z,nodelete", "-Wl,--hash-style=both"] {
        println!("cargo::rustc-link-arg-cdylib={argument}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
