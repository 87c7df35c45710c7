//! Weights that are computed: finite differences and filters.

use crate::complex::Weight;

/// A 1-D filter: weights of the offsets `first, first + 1, …`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Filter {
    pub(super) first: i64,
    pub(super) weights: Vec<f64>,
}

impl Filter {
    fn centred(weights: Vec<f64>) -> Self {
        Self {
            first: -(weights.len() as i64 / 2),
            weights,
        }
    }

    /// Offsets and weights, each times `factor`.
    pub(super) fn line(&self, factor: f64) -> Vec<(i64, Weight)> {
        let offsets = self.first..;
        offsets
            .zip(self.weights.iter().map(|w| Weight::from(factor * w)))
            .collect()
    }

    /// The central difference for a derivative of `order` ≥ 1 with the given even `accuracy`, at unit spacing.
    ///
    /// Weights are those of B. Fornberg, "Generation of finite difference formulas on arbitrarily spaced grids",
    /// Mathematics of Computation 51 (1988) 699–706, on the offsets −p…p with 2p + 1 = 2⌊(order + 1)/2⌋ − 1 +
    /// accuracy; odd or even symmetry is then imposed exactly.
    pub(super) fn central_difference(order: usize, accuracy: usize) -> Self {
        let p = (2 * order.div_ceil(2) - 2 + accuracy) / 2;
        let raw = fornberg(order, p);
        let sign = if order.is_multiple_of(2) { 1.0 } else { -1.0 };
        let weights = (0..=2 * p)
            .map(|i| (raw[i] + sign * raw[2 * p - i]) / 2.0)
            .collect();
        Self::centred(weights)
    }

    /// The Gaussian of scipy.ndimage: radius ⌊truncate·sigma + 0.5⌋, weights exp(−k²/2σ²) over their sum.
    pub(super) fn gaussian(sigma: f64, truncate: f64) -> Self {
        let radius = (truncate * sigma + 0.5).floor() as i64;
        // Not computed: the square of a tiny sigma is 0.
        if radius == 0 {
            return Self::centred(vec![1.0]);
        }
        let raw: Vec<f64> = (-radius..=radius)
            .map(|k| (-0.5 * (k * k) as f64 / (sigma * sigma)).exp())
            .collect();
        let sum: f64 = raw.iter().sum();
        Self::centred(raw.iter().map(|w| w / sum).collect())
    }

    /// The mean over `size` cells, centred on ⌊size/2⌋.
    pub(super) fn mean(size: usize) -> Self {
        Self::centred(vec![1.0 / size as f64; size])
    }

    /// The derivative [−1, 0, 1] or the smoothing [1, 2, 1] of the Sobel filter.
    pub(super) fn sobel(derivative: bool) -> Self {
        Self::centred(if derivative {
            vec![-1.0, 0.0, 1.0]
        } else {
            vec![1.0, 2.0, 1.0]
        })
    }
}

/// Fornberg's recursion for the derivative of `order` at 0 on the points 0, 1, −1, 2, −2, … ±p, returned in the order
/// −p…p. Taking the points from the centre outward keeps the intermediate weights small.
fn fornberg(order: usize, p: usize) -> Vec<f64> {
    let points: Vec<f64> = (0..=2 * p)
        .map(|i| {
            let k = i.div_ceil(2) as f64;
            if i % 2 == 1 { k } else { -k }
        })
        .collect();
    let n = points.len();
    // delta[m][j]: weight of point j for derivative m, on the points taken so far.
    let mut delta = vec![vec![0.0; n]; order + 1];
    delta[0][0] = 1.0;
    let mut c1 = 1.0;
    for i in 1..n {
        let mut c2 = 1.0;
        let previous: Vec<f64> = (0..=order).map(|m| delta[m][i - 1]).collect();
        for j in 0..i {
            let c3 = points[i] - points[j];
            c2 *= c3;
            for m in (0..=order.min(i)).rev() {
                let lower = if m > 0 {
                    m as f64 * delta[m - 1][j]
                } else {
                    0.0
                };
                delta[m][j] = (points[i] * delta[m][j] - lower) / c3;
            }
        }
        for m in (0..=order.min(i)).rev() {
            let lower = if m > 0 {
                m as f64 * previous[m - 1]
            } else {
                0.0
            };
            delta[m][i] = c1 / c2 * (lower - points[i - 1] * previous[m]);
        }
        c1 = c2;
    }
    let mut ordered = vec![0.0; n];
    for (j, &x) in points.iter().enumerate() {
        ordered[(x as i64 + p as i64) as usize] = delta[order][j];
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (f, e) in found.iter().zip(expected) {
            assert!(
                (f - e).abs() <= 4e-15 * e.abs().max(1.0),
                "{found:?} {expected:?}"
            );
        }
    }

    #[test]
    fn second_derivatives_match_the_published_tables() {
        let d2 = |a| Filter::central_difference(2, a).weights;
        assert_close(&d2(2), &[1.0, -2.0, 1.0]);
        let t = 1.0 / 12.0;
        assert_close(&d2(4), &[-t, 16.0 * t, -30.0 * t, 16.0 * t, -t]);
        let right = [-49.0 / 18.0, 1.5, -3.0 / 20.0, 1.0 / 90.0];
        assert_close(&d2(6)[3..], &right);
        let right = [-205.0 / 72.0, 1.6, -0.2, 8.0 / 315.0, -1.0 / 560.0];
        assert_close(&d2(8)[4..], &right);
    }

    #[test]
    fn first_and_third_derivatives_match_the_published_tables() {
        let t = 1.0 / 12.0;
        assert_close(
            &Filter::central_difference(1, 4).weights,
            &[t, -8.0 * t, 0.0, 8.0 * t, -t],
        );
        assert_close(
            &Filter::central_difference(3, 2).weights,
            &[-0.5, 1.0, 0.0, -1.0, 0.5],
        );
    }

    #[test]
    fn differences_are_exact_on_polynomials_up_to_their_accuracy() {
        for (order, accuracy) in [(1, 8), (2, 12), (4, 6), (3, 10)] {
            let filter = Filter::central_difference(order, accuracy);
            for degree in 0..order + accuracy {
                let sum: f64 = filter
                    .line(1.0)
                    .into_iter()
                    .map(|(k, w)| w.re * (k as f64).powi(degree as i32))
                    .sum();
                let size: f64 = filter
                    .line(1.0)
                    .into_iter()
                    .map(|(k, w)| (w.re * (k as f64).powi(degree as i32)).abs())
                    .sum();
                let factorial: f64 = (1..=order).map(|v| v as f64).product();
                let exact = if degree == order { factorial } else { 0.0 };
                assert!(
                    (sum - exact).abs() <= 1e-13 * (size + 1.0),
                    "order {order} accuracy {accuracy} degree {degree}: {sum}"
                );
            }
        }
    }

    #[test]
    fn the_gaussian_is_that_of_scipy() {
        let g = Filter::gaussian(1.0, 4.0);
        assert_eq!(g.first, -4);
        let expected = [
            1.33830625e-04,
            4.43186162e-03,
            5.39911274e-02,
            2.41971446e-01,
            3.98943469e-01,
        ];
        for (w, e) in g.weights.iter().zip(expected) {
            assert!((w - e).abs() < 5e-9 * e, "{w} {e}");
        }
        assert_eq!(Filter::gaussian(0.0, 4.0).weights, [1.0]);
    }
}
