//! Bytes as a chart's archive: as they are, and compressed first so that the tar inside is reached.

#![no_main]

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use kzero_chart::load::archive_bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = archive_bytes(bytes);
    let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
    if zip.write_all(bytes).is_ok()
        && let Ok(zipped) = zip.finish()
    {
        let _ = archive_bytes(&zipped);
    }
});
