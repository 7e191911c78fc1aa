//! How long to wait before a step is tried again: full jitter (S-3.15).

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The greatest upper bound of a pause.
const CAP: Duration = Duration::from_secs(2 * 60);

/// The pause after failure `n` (from 1): uniform in [0, `delay` × 2^(n-1)], the upper bound
/// capped at two minutes. `random` is in [0, 1).
pub(super) fn pause(delay: Duration, failure: u32, random: f64) -> Duration {
    let factor = 2_u32
        .checked_pow(failure.saturating_sub(1))
        .unwrap_or(u32::MAX);
    let bound = delay.checked_mul(factor).unwrap_or(CAP).min(CAP);
    bound.mul_f64(random.clamp(0.0, 1.0))
}

/// A random number in [0, 1). Good enough to spread retries; not for secrets.
pub(super) fn random() -> f64 {
    // The standard library seeds each `RandomState` differently.
    let bits = RandomState::new().hash_one(0_u8) >> 11;
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
    let number = bits as f64;
    number / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{CAP, pause, random};

    #[test]
    fn bounds_double_up_to_two_minutes() {
        // S-3.15
        let delay = Duration::from_secs(5);
        let bounds: Vec<u64> = (1..8).map(|n| pause(delay, n, 1.0).as_secs()).collect();
        assert_eq!(bounds, [5, 10, 20, 40, 80, 120, 120]);
        assert_eq!(pause(delay, 40, 1.0), CAP);
        assert_eq!(pause(Duration::MAX, 2, 1.0), CAP);
        assert_eq!(pause(delay, 3, 0.0), Duration::ZERO);
        assert_eq!(pause(delay, 1, 0.5), Duration::from_millis(2500));
    }

    #[test]
    fn random_numbers_differ_and_stay_in_range() {
        let numbers: Vec<f64> = (0..100).map(|_| random()).collect();
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        assert!(
            numbers
                .windows(2)
                .any(|pair| (pair[0] - pair[1]).abs() > f64::EPSILON)
        );
    }
}
