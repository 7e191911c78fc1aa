//! How the program is linked.

#![expect(clippy::disallowed_methods, reason = "Cargo asks and is told so")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // At a fixed address nothing is left to relocate: that is a third of the time a start takes. The static build has
    // its own setting, in .cargo/config.toml.
    let is = |name: &str, wanted: &str| std::env::var(name).is_ok_and(|value| value == wanted);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
