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

/// Where a server keeps what is its own.
pub(crate) fn folder(server: &str) -> String {
    format!("/{server}")
}

pub(crate) fn path(server: &str) -> String {
    format!("{}/state.json", folder(server))
}

/// `None`: there is no such file. What is answered for must be durable, and a life before this one may have been killed between rename and fsync: found by
/// a sweep of 20,000 seeds.
async fn read(sys: &Sys, path: &str) -> Result<Option<Vec<u8>>, Errno> {
    let file = match sys.open(path, OpenFlags::READ).await {
        Err(Errno::NoEntry) => return Ok(None),
        opened => opened?,
    };
    let bytes = file.read_to_end().await?;
    file.sync().await?;
    sys.sync_dir(&folder(&sys.name())).await?;
    Ok(Some(bytes))
}

impl State {
    /// A server that has none begins with an empty one. One whose file is damaged must not: it would vote again.
    pub(crate) async fn load(sys: &Sys) -> Result<State, String> {
        let path = path(&sys.name());
        let bytes = read(sys, &path).await.map_err(|error| error.to_string())?;
        let Some(bytes) = bytes else { return Ok(State::default()) };
        serde_json::from_slice(&bytes).map_err(|error| format!("{path}: {error}"))
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
            sys.sync_dir(&folder(&sys.name())).await?;
        }
        Ok(())
    }
}
