//! Faults that were found by trying to break kzero, each kept from coming back.

use std::time::Duration;

use kzero_testkit::MiniApi;

use crate::{kzero, live};

#[test]
fn a_script_that_never_stops_writing_is_still_timed_out() {
    // S-4.14: the clock must not wait for a gap in the output.
    let api = MiniApi::start_blocking();
    let outcome = kzero()
        .cluster(&api)
        .profile(&live(
            "hooks: {on-error: ./on-error.sh}\npipelines:\n  down:\n    - custom: ./flood.sh\n      timeout: 300ms\n",
        ))
        .script("flood.sh", "yes password=hunter2\n")
        .script("on-error.sh", "echo on-error ran\n")
        .limit(Duration::from_secs(20))
        .args(["down"])
        .run();
    outcome
        .assert_code(3)
        .assert_stdout("on-error ran")
        .assert_stderr("step timeout 300ms ran out");
    assert!(!outcome.stdout.contains("hunter2"));
    assert!(
        outcome.elapsed < Duration::from_secs(5),
        "{:?}",
        outcome.elapsed
    );
}

#[test]
fn a_script_that_floods_nul_and_invalid_bytes_is_passed_on() {
    // S-4.12: bytes that grow when they are replaced must not break the splitting of lines.
    let api = MiniApi::start_blocking();
    kzero()
        .cluster(&api)
        .profile(&live("pipelines:\n  down:\n    - custom: ./flood.sh\n"))
        .script(
            "flood.sh",
            "head -c 1000000 /dev/zero\nhead -c 1000000 /dev/zero | tr '\\0' '\\377' >&2\necho end\n",
        )
        .args(["down"])
        .run()
        .assert_code(0)
        .assert_stdout("end\n");
}
