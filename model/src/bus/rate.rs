//! The rate limit of a sender: the times of its last signals, as many as the limit counts, in the store, so that a restart forgets none.

use super::config::RateLimit;
use rusqlite::{Connection, OptionalExtension, params};

/// How long a sender must wait before its next signal, in nanoseconds; 0 is not at all. Otherwise the signal is counted.
pub(super) fn wait_or_count(
    connection: &Connection,
    member: u32,
    limit: Option<RateLimit>,
    now_ns: u64,
) -> rusqlite::Result<u64> {
    let Some(RateLimit { signals, within_ns }) = limit.filter(|limit| limit.signals > 0) else { return Ok(0) };
    // A time to come says that the clock was set back: it counts as now, so that nobody waits for longer than the limit's own time.
    let mut set_back = connection.prepare_cached("UPDATE sends SET sent_ns = ?2 WHERE member = ?1 AND sent_ns > ?2")?;
    set_back.execute(params![member, now_ns as i64])?;
    // The slot that is used next holds the time of the signal that was sent so many signals ago. There are more slots than that if the limit was higher once.
    let mut oldest = connection.prepare_cached(
        "SELECT slot, sent_ns FROM sends WHERE member = ?1 ORDER BY sent_ns, slot LIMIT 1
           OFFSET (SELECT iif(count(*) < ?2, count(*), count(*) - ?2) FROM sends WHERE member = ?1)",
    )?;
    let found = oldest.query_row(params![member, signals], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
    let slot = match found.optional()? {
        Some((slot, sent_ns)) => {
            let age_ns = now_ns.saturating_sub(sent_ns as u64);
            if age_ns < within_ns {
                return Ok(within_ns - age_ns);
            }
            slot
        }
        None => connection.query_row("SELECT count(*) FROM sends WHERE member = ?1", [member], |row| row.get(0))?,
    };
    let set = "INSERT INTO sends (member, slot, sent_ns) VALUES (?1, ?2, ?3)
               ON CONFLICT (member, slot) DO UPDATE SET sent_ns = excluded.sent_ns";
    connection.prepare_cached(set)?.execute(params![member, slot, now_ns as i64])?;
    Ok(0)
}
