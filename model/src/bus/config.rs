//! How the bus is set up.

/// The settings of the bus. All agents of a swarm have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusConfig {
    /// Signals that wait in one recipient's durable queue at most.
    pub queue_max: u64,
    /// Copies of signals that one recipient holds at most while they wait for their turn.
    pub copies_max: usize,
    /// Messages that wait in a mailbox at most.
    pub mailbox_max: usize,
    /// Signals that are acknowledged in one transaction at most.
    pub batch_max: usize,
    /// The limit on what one sender sends; `None` is without limit.
    pub rate_limit: Option<RateLimit>,
}

/// So many signals of one sender in so many nanoseconds of the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// How many.
    pub signals: u32,
    /// In which time, in nanoseconds.
    pub within_ns: u64,
}

impl Default for BusConfig {
    fn default() -> BusConfig {
        BusConfig {
            queue_max: 256,
            copies_max: 128,
            mailbox_max: 128,
            batch_max: 32,
            rate_limit: Some(RateLimit { signals: 10, within_ns: 60_000_000_000 }),
        }
    }
}
