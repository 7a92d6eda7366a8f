//! Which items to leave out next: halves first, then ever smaller pieces, single ones last (Zeller and Hildebrandt 2002: delta debugging). What an item is
//! and whether it could be left out is not known here.

use std::ops::Range;

/// A list that is being cut down.
#[derive(Clone, Debug)]
pub(super) struct Reduction {
    /// How many items are left.
    items: usize,
    /// How long the pieces are that are left out.
    piece: usize,
    /// Where the next piece begins.
    next: usize,
    /// Whether a piece of this length could be left out since the list was last begun.
    had_success: bool,
}

impl Reduction {
    /// Of a list of so many items.
    pub(super) fn new(items: usize) -> Reduction {
        Reduction { items, piece: items.max(1), next: 0, had_success: false }
    }

    /// The next pieces to leave out, each by itself, so many at most. None are left once each item has been tried by itself since the last success.
    pub(super) fn pieces(&mut self, count: usize) -> Vec<Range<usize>> {
        if self.items == 0 {
            return Vec::new();
        }
        if self.next >= self.items {
            if self.piece == 1 && !self.had_success {
                return Vec::new();
            }
            self.piece = if self.had_success && self.piece == 1 { 1 } else { self.piece.div_ceil(2).min(self.items) };
            (self.next, self.had_success) = (0, false);
            if self.piece >= self.items && self.items > 1 {
                self.piece = self.items.div_ceil(2);
            }
        }
        let starts = (self.next..self.items).step_by(self.piece).take(count);
        starts.map(|start| start..(start + self.piece).min(self.items)).collect()
    }

    /// What came of them: the first that could be left out, if one could.
    pub(super) fn told(&mut self, pieces: &[Range<usize>], left_out: Option<usize>) {
        match left_out {
            None => self.next = pieces.last().map_or(self.items, |piece| piece.end),
            Some(index) => {
                let piece = &pieces[index];
                self.items -= piece.len();
                // What follows has moved up.
                self.next = piece.start;
                self.had_success = true;
            }
        }
    }

    /// Goes on with a list that has another length now, from about the same place.
    pub(super) fn resized(self, items: usize) -> Reduction {
        Reduction { items, piece: self.piece.min(items.max(1)), next: self.next.min(items), ..self }
    }

    /// How long the pieces are.
    pub(super) fn piece(&self) -> usize {
        self.piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cuts `all` down as long as `fails` holds; gives what is left and how often it asked.
    fn reduced(all: usize, width: usize, fails: impl Fn(&[usize]) -> bool) -> (Vec<usize>, usize) {
        let mut kept: Vec<usize> = (0..all).collect();
        let mut reduction = Reduction::new(all);
        let mut asked = 0;
        loop {
            let pieces = reduction.pieces(width);
            if pieces.is_empty() {
                return (kept, asked);
            }
            let without = |piece: &Range<usize>| {
                let mut rest = kept.clone();
                rest.drain(piece.clone());
                rest
            };
            asked += pieces.len();
            let first = pieces.iter().position(|piece| fails(&without(piece)));
            if let Some(index) = first {
                kept = without(&pieces[index]);
            }
            reduction.told(&pieces, first);
        }
    }

    #[test]
    fn what_matters_is_left_and_nothing_else() {
        for width in [1, 2, 5] {
            for needed in [vec![], vec![0], vec![63], vec![3, 4], vec![0, 31, 62], vec![10, 20, 30, 40, 50]] {
                let (kept, asked) = reduced(64, width, |rest| needed.iter().all(|item| rest.contains(item)));
                assert_eq!(kept, needed);
                assert!(asked < 200, "{asked} for {needed:?}");
            }
        }
    }

    #[test]
    fn nothing_can_be_left_out_of_what_is_needed_whole() {
        let (kept, asked) = reduced(16, 2, |rest| rest.len() == 16);
        assert_eq!((kept.len(), asked), (16, 31));
    }

    #[test]
    fn items_that_need_each_other_are_left_out_together() {
        // An odd number of the last four is never a failure.
        let (kept, _) = reduced(12, 2, |rest| rest.iter().filter(|item| **item >= 8).count() % 2 == 0);
        assert!(kept.is_empty(), "{kept:?}");
    }
}
