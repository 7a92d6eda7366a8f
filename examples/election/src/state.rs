//! What a server must not forget: its term, its vote and its log, in a file that is replaced as a whole.

use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::{Errno, Sys};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    /// The newest that it has heard of.
    pub(crate) term: u64,
    /// Whom it has voted for in this term.
    pub(crate) vote: Option<String>,
    pub(crate) log: Vec<Entry>,
}

/// A request, and the term in which a leader took it. Its place in the log, from 1, is the number of the ticket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) term: u64,
    pub(crate) client: String,
    /// 0: nobody's request, but the first entry of a leader.
    pub(crate) request: u64,
}

/// Which of two logs is more up to date: that of the greater one (5.4.1).
pub(crate) fn last(log: &[Entry]) -> (u64, usize) {
    (log.last().map_or(0, |entry| entry.term), log.len())
}

pub(crate) fn path(server: &str) -> String {
    format!("/{server}.json")
}

impl State {
    /// A server that has none begins with an empty one. One whose file is damaged must not: it would vote again.
    pub(crate) async fn load(sys: &Sys) -> Result<State, String> {
        let file = match sys.open(&path(&sys.name()), OpenFlags::READ).await {
            Ok(file) => file,
            Err(Errno::NoEntry) => return Ok(State::default()),
            Err(error) => return Err(error.to_string()),
        };
        let bytes = file.read_to_end().await.map_err(|error| error.to_string())?;
        serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", path(&sys.name())))
    }

    /// Whoever saves may answer afterwards: the file is durable, and so is its name.
    pub(crate) async fn save(&self, sys: &Sys, is_synced: bool) -> Result<(), Errno> {
        let path = path(&sys.name());
        let draft = format!("{path}.draft");
        let file = sys.open(&draft, OpenFlags::WRITE.create().truncate()).await?;
        file.write_all(&serde_json::to_vec(self).expect("plain data")).await?;
        if is_synced {
            file.sync().await?;
        }
        file.close().await?;
        sys.rename(&draft, &path).await?;
        if is_synced {
            sys.sync_dir("/").await?;
        }
        Ok(())
    }
}
