//! Bytes as YAML: what is read is written, and reads back the same.

#![no_main]

use kzero_chart::yaml;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = yaml::decode_bytes(bytes) else {
        return;
    };
    let Ok(text) = yaml::encode(&value) else {
        return;
    };
    // `toYaml` leaves the last line break out.
    let again = yaml::decode(&format!("{text}\n")).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(yaml::encode(&again).ok(), Some(text));
});
