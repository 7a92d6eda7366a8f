//! The geometric mean. The driver of `tools/peers`, a workspace of its own, has this file too.

/// The geometric mean; `None` of nothing.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::geometric_mean;

    #[test]
    fn a_geometric_mean_is_a_product_s_root() {
        assert!(geometric_mean(&[0.5, 2.0, 8.0]).is_some_and(|mean| (mean - 2.0).abs() < 1e-12));
        assert_eq!(geometric_mean(&[]), None);
    }
}
