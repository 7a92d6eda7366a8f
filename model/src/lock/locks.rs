//! Waiting for named locks: deadlines, back-off, turns, the fixed order, and what is claimed of it. How a lock excludes is a `Way`.

use super::queue::Ticket;
use super::way::{Attempt, Grant, Way};
use super::{Backoff, BackoffPolicy, Holder, LockError, LockName, Order};
use crate::config::Config;
use crate::mutant::{Mutant, is};
use seedstorm_sim::Errno;
use seedstorm_sim::Sys;
use seedstorm_sim::sys::claim::{Happened, LockAcquired, LockReleased, LockTimedOut, LockWaiting};
use std::cell::RefCell;

/// A process's access to the swarm's named locks.
pub struct Locks {
    way: Box<dyn Way>,
    directory: String,
    policy: BackoffPolicy,
    timeout_ns: u64,
    mutant: Option<Mutant>,
    order: RefCell<Order>,
}

/// A lock that this process holds. Give it back with [`Locks::release`]: dropping it does not, since giving back takes system calls.
#[must_use = "a lock that is dropped stays locked until the process ends"]
pub struct Held {
    lock: LockName,
    grant: Grant,
}

impl Held {
    /// The fencing token, where locks have one: what the lock protects must check it at each write.
    pub fn token(&self) -> Option<u64> {
        self.grant.token
    }
}

impl Locks {
    /// The locks of a configuration.
    pub fn new(config: &Config) -> Locks {
        Locks {
            way: config.lock.way(config),
            directory: config.locks(),
            policy: config.backoff,
            timeout_ns: config.lock_timeout_ns,
            mutant: config.mutant,
            order: RefCell::default(),
        }
    }

    /// Acquires a lock, or gives up at the deadline.
    ///
    /// # Errors
    /// [`LockError::TimedOut`] names the holder. [`LockError::ReEntered`] and [`LockError::OutOfOrder`] come at once: they are mistakes
    /// of the caller. A failing system call is no reason to give up before the deadline: the timeout then tells of it.
    pub async fn acquire(&self, sys: &Sys, lock: LockName) -> Result<Held, LockError> {
        if !is(self.mutant, Mutant::LocksOutOfOrder) && !is(self.mutant, Mutant::LockReEntered) {
            self.order.borrow().check(&lock)?;
        }
        // From here on, so that two tasks of one process can't both wait for it.
        self.order.borrow_mut().enter(&lock);
        let name = lock.to_string();
        sys.claim(&LockWaiting { lock: name.clone(), within_ns: self.timeout_ns }).await;
        let since_ns = sys.monotonic_ns();
        let ticket = match self.policy {
            // Without a ticket we wait like anybody else.
            BackoffPolicy::FairQueue => Ticket::join(sys, &self.directory, &lock).await.ok(),
            _ => None,
        };
        let mut grant = match self.wait(sys, &lock, ticket.as_ref(), since_ns).await {
            Ok(grant) => grant,
            Err(error) => {
                self.order.borrow_mut().leave(&lock);
                let holder = match &error {
                    LockError::TimedOut { holder, .. } => holder.to_string(),
                    _ => String::new(),
                };
                // Also when it gave up for another reason: it waits no more.
                sys.claim(&LockTimedOut { lock: name, holder }).await;
                if let Some(ticket) = ticket {
                    ticket.leave(sys).await;
                }
                return Err(error);
            }
        };
        let (exclusion, token) = (self.way.exclusion(), grant.token.unwrap_or(0));
        sys.claim(&LockAcquired { lock: name, exclusion, token }).await;
        if grant.took_over {
            let what = if grant.token.is_some() { "lease_taken_over" } else { "lock_reclaimed" };
            sys.claim(&Happened { what: what.into() }).await;
        }
        if let Some(ticket) = ticket {
            ticket.leave(sys).await;
        }
        self.way.settle(sys, &lock, &mut grant).await;
        Ok(Held { lock, grant })
    }

    /// Takes away what dead lives of this process's name still hold. Gives whether nothing is left of them.
    ///
    /// # Errors
    /// [`LockError::System`].
    pub async fn release_dead(&self, sys: &Sys) -> Result<bool, LockError> {
        let released = self.way.release_dead(sys).await?;
        if released.is_some_and(|count| count > 0) {
            sys.claim(&Happened { what: "lock_reclaimed".into() }).await;
        }
        Ok(released.is_some())
    }

    /// Gives a lock back.
    ///
    /// # Errors
    /// [`LockError::System`]: the lock may still be held until this process ends.
    pub async fn release(&self, sys: &Sys, held: Held) -> Result<(), LockError> {
        let Held { lock, grant } = held;
        // Before the release takes effect: after it another may hold the lock at any moment.
        sys.claim(&LockReleased { lock: lock.to_string() }).await;
        let released = self.way.release(sys, &lock, grant).await;
        self.order.borrow_mut().leave(&lock);
        released
    }

    async fn wait(
        &self,
        sys: &Sys,
        lock: &LockName,
        ticket: Option<&Ticket>,
        since_ns: u64,
    ) -> Result<Grant, LockError> {
        let mut backoff = Backoff::new(self.policy, self.mutant);
        let (mut attempts, mut holder, mut last) = (0, Holder::Unknown, None);
        loop {
            let waited_ns = sys.monotonic_ns() - since_ns;
            match self.try_in_turn(sys, lock, ticket, waited_ns).await {
                Ok(None) => {}
                Ok(Some(Attempt::Acquired(grant))) => return Ok(grant),
                Ok(Some(Attempt::Busy(by))) => {
                    attempts += 1;
                    if by != Holder::Unknown {
                        holder = by;
                    }
                }
                Err(LockError::System { step, source, .. }) => {
                    attempts += 1;
                    last = Some((step, source));
                }
                Err(error) => return Err(error),
            }
            let waited_ns = sys.monotonic_ns() - since_ns;
            if waited_ns >= self.timeout_ns {
                return Err(LockError::TimedOut { lock: lock.clone(), holder, waited_ns, attempts, last });
            }
            if sys.is_terminating() {
                return Err(LockError::Terminating { lock: lock.clone() });
            }
            let sleep_ns = backoff.next_within_ns(self.timeout_ns - waited_ns, &mut sys.entropy());
            match sys.sleep(sleep_ns).await {
                Ok(()) => {}
                Err(Errno::Interrupted) => {}
                Err(source) => last = Some(("sleep", source)),
            }
        }
    }

    /// Tries, if it is our turn. Who has waited for half of its time tries in any case: the head of a queue may be asleep before a free lock.
    async fn try_in_turn(
        &self,
        sys: &Sys,
        lock: &LockName,
        ticket: Option<&Ticket>,
        waited_ns: u64,
    ) -> Result<Option<Attempt>, LockError> {
        if let Some(ticket) = ticket
            && waited_ns < self.timeout_ns / 2
            && !ticket.is_first(sys, lock, self.mutant).await?
        {
            sys.claim(&Happened { what: "fair_turn_waited".into() }).await;
            return Ok(None);
        }
        self.way.attempt(sys, lock).await.map(Some)
    }
}
