//! The slow lane: the real binary against a real control plane (tests/cluster).
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::expect_used, reason = "a test stops at the first surprise")]

mod examples;
