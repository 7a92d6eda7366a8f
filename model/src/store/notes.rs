//! Notes: appended, never changed.

use super::board::padded;
use super::connection::Store;
use super::error::StoreError;
use super::transaction::{Attempt, Outcome, Verdict};
use crate::claims::{Effect, OperationKey};
use rusqlite::params;
use seedstorm_sim::Sys;
use std::rc::Rc;

impl Store {
    /// Appends a note of about so many bytes.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn append_note(&mut self, sys: &Sys, key: &OperationKey, bytes: usize) -> Result<Outcome, StoreError> {
        let text = padded(format!("{}#{}", key.agent, key.number), bytes);
        let body = move |attempt: &Attempt<'_>| {
            if let Some(effect) = attempt.begin()? {
                return Ok(Verdict::Found(effect));
            }
            let append = || {
                let insert = "INSERT INTO notes (agent, number, text, written_ns) VALUES (?1, ?2, ?3, ?4)";
                let (key, now_ns) = (attempt.key, attempt.now_ns as i64);
                attempt.connection.prepare_cached(insert)?.execute(params![key.agent, key.number as i64, text, now_ns])
            };
            append().map_err(attempt.trouble("append a note"))?;
            Ok(Verdict::Commit(Effect::of_note(&text)))
        };
        self.write(sys, key, Rc::new(body)).await
    }
}
