//! Medians, their intervals, and geometric means. Numbers only.

#[path = "../../../src/selftest/geometric_mean.rs"]
mod geometric_mean;

pub(crate) use geometric_mean::geometric_mean;

/// A median with the interval that holds the true one 95 times in 100.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Median {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Ranks of the order statistics around the median of so many values, from 0: the binomial's, by its normal approximation (Conover 1999, section 3.2).
fn ranks(count: usize) -> (usize, usize) {
    let (half, spread) = (count as f64 / 2.0, 1.96 * (count as f64).sqrt() / 2.0);
    let low = (half - spread).floor().max(0.0) as usize;
    let high = ((half + spread).ceil() as usize).min(count) - 1;
    (low, high)
}

/// The median of tries, of which some found nothing: infinite.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> Median {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (low, high) = ranks(values.len());
    let middle = values.len() / 2;
    let median =
        if values.len().is_multiple_of(2) { (values[middle - 1] + values[middle]) / 2.0 } else { values[middle] };
    Median { median, low: values[low], high: values[high] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_stand_between_their_bounds() {
        let of = median((1..=30).map(f64::from));
        assert_eq!(of, Median { median: 15.5, low: 10.0, high: 21.0 });
        let of = median([3.0, f64::INFINITY, 1.0].into_iter());
        assert_eq!(of.median, 3.0);
    }
}
