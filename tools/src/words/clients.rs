//! What the clients of sqlite-wal claim, in words. Claims of the model are in `claims`.

use seedstorm_scenarios::wal::claims::{
    Begun, Checkpointed, Committed, Damaged, Found, Looked, Peeked, Retried, Unsettled, Writing,
};
use seedstorm_sim::trace::Event;

/// A claim in words, if it is one of theirs.
pub(super) fn of_client(event: &Event<'_>, kind: &str) -> Option<String> {
    Some(match kind {
        "wal-begun" => {
            let Begun { operation } = event.claim()?;
            format!("begins operation {operation}")
        }
        "wal-writing" => {
            let Writing { operation, sequence, after } = event.claim()?;
            format!("is about to commit operation {operation} as commit {sequence}, after operation {after}")
        }
        "wal-found" => {
            let Found { operation, sequence } = event.claim()?;
            format!("finds that operation {operation} is commit {sequence}")
        }
        "wal-committed" => {
            let Committed { operation, sequence, was_found } = event.claim()?;
            let found = if was_found { ", by an earlier try" } else { "" };
            format!("acknowledges operation {operation} as commit {sequence}{found}")
        }
        "wal-unsettled" => {
            let Unsettled { operation } = event.claim()?;
            format!("doesn't know whether operation {operation} is committed")
        }
        "wal-peeked" => {
            let Peeked { newest, .. } = event.claim()?;
            format!("sees commit {} of operation {} with {} rows", newest.sequence, newest.operation, newest.rows)
        }
        "wal-looked" => {
            let Looked { contents, again, .. } = event.claim()?;
            let again = if again { " again" } else { "" };
            format!("reads everything{again}: {} commits, {} rows", contents.sequence, contents.rows)
        }
        "wal-checkpointed" => match event.claim()? {
            Checkpointed { frames: Some(frames), moved: Some(moved), was_busy, .. } => {
                let busy = if was_busy { ", held up by others" } else { "" };
                format!("checkpointed {moved} of {frames} frames{busy}")
            }
            Checkpointed { .. } => "checkpointed nothing: there is no WAL".to_owned(),
        },
        "wal-retried" => match event.claim()? {
            Retried { operation, was_busy: true } => format!("tries operation {operation} again: others were there"),
            Retried { operation, .. } => format!("tries operation {operation} again: the disk failed"),
        },
        "wal-damaged" => {
            let Damaged { why, .. } = event.claim()?;
            format!("finds the database damaged: {why}")
        }
        _ => return None,
    })
}
