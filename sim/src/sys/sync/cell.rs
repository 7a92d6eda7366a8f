//! Atomic cells between the tasks of a process. Each operation is a step, so sequentially consistent: weaker orders are not simulated.

use super::Place;
use crate::kernel::{Core, Injected};
use crate::sys::Sys;
use crate::sys::call::{Call, Caller, Effect, Header};
use crate::trace::CallKind;
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::task::Poll;

/// What an atomic cell can hold.
pub trait CellValue: Copy + PartialEq + 'static {
    /// The value as a number, for the trace.
    fn bits(self) -> u64;
}

/// A whole number that an atomic cell can add to.
pub trait CellNumber: CellValue {
    /// The sum, modulo the type's range.
    fn plus(self, other: Self) -> Self;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl CellValue for $number {
            fn bits(self) -> u64 {
                self as u64
            }
        }

        impl CellNumber for $number {
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        }
    )*};
}

numbers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

impl CellValue for bool {
    fn bits(self) -> u64 {
        u64::from(self)
    }
}

/// A value that tasks read and change, one operation at a time (C11 `_Atomic`, with memory_order_seq_cst).
pub struct AtomicCell<T> {
    inner: Rc<Inner<T>>,
}

struct Inner<T> {
    place: Place,
    value: Cell<T>,
}

impl<T> Clone for AtomicCell<T> {
    fn clone(&self) -> Self {
        AtomicCell { inner: self.inner.clone() }
    }
}

/// The first argument of a `cell` call in the trace: what it did.
const LOAD: u64 = 0;
const STORE: u64 = 1;
const SWAP: u64 = 2;
const COMPARE_EXCHANGE: u64 = 3;
const ADD: u64 = 4;

impl<T: CellValue> AtomicCell<T> {
    /// A cell that holds `value`.
    pub fn new(sys: &Sys, value: T) -> AtomicCell<T> {
        AtomicCell { inner: Rc::new(Inner { place: Place::new(sys), value: Cell::new(value) }) }
    }

    /// Reads the value.
    pub fn load(&self) -> impl Future<Output = T> {
        self.operate([LOAD, 0], |before| before, |before| before)
    }

    /// Sets the value.
    pub fn store(&self, value: T) -> impl Future<Output = ()> {
        self.operate([STORE, value.bits()], move |_| value, |_| ())
    }

    /// Sets the value; gives the one before.
    pub fn swap(&self, value: T) -> impl Future<Output = T> {
        self.operate([SWAP, value.bits()], move |_| value, |before| before)
    }

    /// Sets the value to `new` if it is `expected`; gives the one before either way. It never fails for no reason.
    ///
    /// # Errors
    /// The value, which was not the expected one and stays.
    pub fn compare_exchange(&self, expected: T, new: T) -> impl Future<Output = std::result::Result<T, T>> {
        let is_new = move |before| if before == expected { Ok(before) } else { Err(before) };
        let after = move |before| if before == expected { new } else { before };
        self.operate([COMPARE_EXCHANGE, new.bits()], after, is_new)
    }

    /// An operation by its arguments in the trace: the value after it, and what it gives, by the one before.
    fn operate<V>(
        &self,
        arguments: [u64; 2],
        after: impl Fn(T) -> T,
        value: impl FnOnce(T) -> V,
    ) -> impl Future<Output = V> {
        self.inner.place.sys.call(Operate { cell: &self.inner, arguments, after }).then(move |done| match done {
            Ok(before) => Poll::Ready(value(before)),
            // The process died: this code no longer runs either.
            Err(_) => Poll::Pending,
        })
    }
}

impl<T: CellNumber> AtomicCell<T> {
    /// Adds, modulo the type's range; gives the value before.
    pub fn fetch_add(&self, addend: T) -> impl Future<Output = T> {
        self.operate([ADD, addend.bits()], move |before: T| before.plus(addend), |before| before)
    }
}

// Each operation has a type of its own: which one comes next can't be guessed.
struct Operate<'a, T, F> {
    cell: &'a Inner<T>,
    arguments: [u64; 2],
    after: F,
}

impl<T: CellValue, F: Fn(T) -> T> Call for Operate<'_, T, F> {
    /// The value before.
    type Value = T;

    #[inline]
    fn header(&self) -> Header {
        Header::new(CallKind::Cell, self.cell.place.key, self.arguments)
    }

    #[inline]
    fn effect(&mut self, _core: &mut Core, _caller: Caller, _injected: Option<Injected>) -> Effect<T> {
        let before = self.cell.value.get();
        self.cell.value.set((self.after)(before));
        Effect::Done(Ok(before))
    }

    fn number(&self, before: &T) -> u64 {
        before.bits()
    }
}
