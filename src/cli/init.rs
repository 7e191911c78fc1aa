//! `kzero init`: a profile from what runs in namespaces.

use super::app::App;
use super::args::InitArgs;
use crate::exit::Failure;

pub(super) fn run(_app: &App, _arguments: &InitArgs) -> Result<(), Failure> {
    Err(Failure::Config("kzero init is not available yet".into()))
}
