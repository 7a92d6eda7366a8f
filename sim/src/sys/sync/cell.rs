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

/// What an operation does. The numbers are the first argument of a `cell` call in the trace.
#[derive(Clone, Copy)]
enum Operation<T> {
    Load,
    Store(T),
    Swap(T),
    CompareExchange { expected: T, new: T },
    Add(T, fn(T, T) -> T),
}

impl<T: CellValue> AtomicCell<T> {
    /// A cell that holds `value`.
    pub fn new(sys: &Sys, value: T) -> AtomicCell<T> {
        AtomicCell { inner: Rc::new(Inner { place: Place::new(sys), value: Cell::new(value) }) }
    }

    /// Reads the value.
    pub fn load(&self) -> impl Future<Output = T> {
        self.operate(Operation::Load, |before| before)
    }

    /// Sets the value.
    pub fn store(&self, value: T) -> impl Future<Output = ()> {
        self.operate(Operation::Store(value), |_| ())
    }

    /// Sets the value; gives the one before.
    pub fn swap(&self, value: T) -> impl Future<Output = T> {
        self.operate(Operation::Swap(value), |before| before)
    }

    /// Sets the value to `new` if it is `expected`; gives the one before either way. It never fails for no reason.
    ///
    /// # Errors
    /// The value, which was not the expected one and stays.
    pub fn compare_exchange(&self, expected: T, new: T) -> impl Future<Output = std::result::Result<T, T>> {
        let is_new = move |before| if before == expected { Ok(before) } else { Err(before) };
        self.operate(Operation::CompareExchange { expected, new }, is_new)
    }

    fn operate<V>(&self, operation: Operation<T>, value: impl FnOnce(T) -> V) -> impl Future<Output = V> {
        self.inner.place.sys.call(Operate { cell: &self.inner, operation }).then(move |done| match done {
            Ok(before) => Poll::Ready(value(before)),
            // The process died: this code no longer runs either.
            Err(_) => Poll::Pending,
        })
    }
}

impl<T: CellNumber> AtomicCell<T> {
    /// Adds, modulo the type's range; gives the value before.
    pub fn fetch_add(&self, addend: T) -> impl Future<Output = T> {
        self.operate(Operation::Add(addend, T::plus), |before| before)
    }
}

struct Operate<'a, T> {
    cell: &'a Inner<T>,
    operation: Operation<T>,
}

impl<T: CellValue> Call for Operate<'_, T> {
    /// The value before.
    type Value = T;

    fn header(&self) -> Header {
        let arguments = match self.operation {
            Operation::Load => [0, 0],
            Operation::Store(value) => [1, value.bits()],
            Operation::Swap(value) => [2, value.bits()],
            Operation::CompareExchange { new, .. } => [3, new.bits()],
            Operation::Add(addend, _) => [4, addend.bits()],
        };
        Header::new(CallKind::Cell, self.cell.place.key, arguments)
    }

    fn effect(&mut self, _core: &mut Core, _caller: Caller, _injected: Option<Injected>) -> Effect<T> {
        let before = self.cell.value.get();
        let after = match self.operation {
            Operation::Load => before,
            Operation::Store(value) | Operation::Swap(value) => value,
            Operation::CompareExchange { expected, new } if before == expected => new,
            Operation::CompareExchange { .. } => before,
            Operation::Add(addend, plus) => plus(before, addend),
        };
        self.cell.value.set(after);
        Effect::Done(Ok(before))
    }

    fn number(&self, before: &T) -> u64 {
        before.bits()
    }
}
