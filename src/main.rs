//! The `kzero` binary, also installed as `kubectl-kzero`.

use std::process::ExitCode;

fn main() -> ExitCode {
    // One TLS provider for the whole process; a second call would only say that it is there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    kzero::cli::main(std::env::args_os())
}
