//! The fixed order in which a process acquires locks: who keeps to it can't be part of a deadlock.

use super::LockError;
use std::fmt;

/// The place of a lock in the order: the first is acquired first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Making or changing the schema.
    Migration,
    /// Making documents shorter: one at a time in the swarm.
    Compaction,
    /// One document.
    Document,
}

/// A lock's name. Locks of one rank are ordered by their names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockName {
    rank: Rank,
    /// The name of what it protects; empty where the rank says it all.
    of: String,
}

impl LockName {
    /// The lock of the schema.
    pub fn migration() -> LockName {
        LockName { rank: Rank::Migration, of: String::new() }
    }

    /// The lock of compaction.
    pub fn compaction() -> LockName {
        LockName { rank: Rank::Compaction, of: String::new() }
    }

    /// The lock of a document.
    pub fn document(name: &str) -> LockName {
        LockName { rank: Rank::Document, of: name.to_owned() }
    }
}

impl LockName {
    /// The lock of that name; `None` if there is none.
    pub fn parse(name: &str) -> Option<LockName> {
        match name {
            "migration" => Some(LockName::migration()),
            "compaction" => Some(LockName::compaction()),
            name => name.strip_prefix("document.").map(LockName::document),
        }
    }
}

/// As it stands in file names and claims.
impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rank {
            Rank::Migration => f.write_str("migration"),
            Rank::Compaction => f.write_str("compaction"),
            Rank::Document => write!(f, "document.{}", self.of),
        }
    }
}

/// What a process holds, in the order in which it acquired it.
#[derive(Clone, Debug, Default)]
pub struct Order {
    held: Vec<LockName>,
}

impl Order {
    /// Whether a lock may be acquired now.
    ///
    /// # Errors
    /// [`LockError::ReEntered`] or [`LockError::OutOfOrder`].
    pub fn check(&self, lock: &LockName) -> Result<(), LockError> {
        if self.held.contains(lock) {
            return Err(LockError::ReEntered { lock: lock.clone() });
        }
        match self.held.iter().find(|held| *held > lock) {
            Some(held) => Err(LockError::OutOfOrder { lock: lock.clone(), held: held.clone() }),
            None => Ok(()),
        }
    }

    /// Notes a lock as held, or as being waited for.
    pub fn enter(&mut self, lock: &LockName) {
        self.held.push(lock.clone());
    }

    /// Notes a lock as held no more.
    pub fn leave(&mut self, lock: &LockName) {
        self.held.retain(|held| held != lock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_acquired_in_one_order_and_once() {
        let mut order = Order::default();
        let (first, second) = (LockName::document("a"), LockName::document("b"));
        order.enter(&first);
        assert_eq!(order.check(&second), Ok(()));
        order.enter(&second);
        assert_eq!(order.check(&first), Err(LockError::ReEntered { lock: first.clone() }));
        let compaction = LockName::compaction();
        assert_eq!(
            order.check(&compaction),
            Err(LockError::OutOfOrder { lock: compaction.clone(), held: first.clone() })
        );
        order.leave(&first);
        order.leave(&second);
        assert_eq!(order.check(&compaction), Ok(()), "a lock that was given back binds nobody");
    }

    #[test]
    fn ranks_come_in_the_stated_order() {
        let names = [LockName::migration(), LockName::compaction(), LockName::document("a"), LockName::document("b")];
        assert!(names.is_sorted());
        for name in names {
            assert_eq!(LockName::parse(&name.to_string()), Some(name));
        }
        assert_eq!(LockName::parse("something"), None);
    }
}
