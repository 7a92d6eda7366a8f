//! Calls on paths: rename, link, unlink, mkdir, rmdir, readdir, stat. Calls on open files are in `file`.

use super::call::{Call, Caller, Effect, Header};
use super::disk::{OpenFlags, Stat};
use super::{Result, Sys};
use crate::kernel::{Core, Injected};
use crate::trace::CallKind;

/// A call that names one path and gives nothing back.
pub(crate) struct OnePath<'a> {
    pub(crate) path: &'a str,
    pub(crate) kind: CallKind,
}

impl Call for OnePath<'_> {
    type Value = ();

    fn header(&self) -> Header {
        Header::on_path(self.kind, self.path, [0; 2])
    }

    fn effect(&mut self, core: &mut Core, _caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        match self.kind {
            CallKind::MakeDirectory => core.disk.mkdir(self.path).map(drop),
            CallKind::RemoveDirectory => core.disk.rmdir(self.path),
            CallKind::Unlink => core.disk.unlink(self.path),
            kind => unreachable!("`{kind}` is no call on one path"),
        }
        .into()
    }

    fn number(&self, (): &()) -> u64 {
        0
    }

    fn data(&self, _value: Option<&()>) -> &[u8] {
        self.path.as_bytes()
    }
}

/// A call that names two paths.
pub(crate) struct TwoPaths {
    /// Both, separated by a NUL, as the trace shows them.
    both: String,
    from_len: usize,
    kind: CallKind,
}

impl TwoPaths {
    pub(crate) fn new(kind: CallKind, from: &str, to: &str) -> TwoPaths {
        TwoPaths { both: format!("{from}\0{to}"), from_len: from.len(), kind }
    }
}

impl Call for TwoPaths {
    type Value = ();

    fn header(&self) -> Header {
        Header::new(self.kind, 0, [0; 2])
    }

    fn effect(&mut self, core: &mut Core, _caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        let (from, to) = (&self.both[..self.from_len], &self.both[self.from_len + 1..]);
        match self.kind {
            CallKind::Rename => core.disk.rename(from, to),
            CallKind::Link => core.disk.link(from, to),
            kind => unreachable!("`{kind}` is no call on two paths"),
        }
        .into()
    }

    fn number(&self, (): &()) -> u64 {
        0
    }

    fn data(&self, _value: Option<&()>) -> &[u8] {
        self.both.as_bytes()
    }
}

pub(crate) struct StatPath<'a> {
    pub(crate) path: &'a str,
}

impl Call for StatPath<'_> {
    type Value = Stat;

    fn header(&self) -> Header {
        Header::on_path(CallKind::Stat, self.path, [0; 2])
    }

    fn effect(&mut self, core: &mut Core, _caller: Caller, _injected: Option<Injected>) -> Effect<Stat> {
        core.disk.stat(self.path).into()
    }

    fn number(&self, stat: &Stat) -> u64 {
        stat.len_bytes
    }

    fn data(&self, _value: Option<&Stat>) -> &[u8] {
        self.path.as_bytes()
    }

    fn object(&self, stat: &Stat) -> Option<u64> {
        Some(stat.inode.0)
    }
}

pub(crate) struct ReadDirectory<'a> {
    pub(crate) path: &'a str,
}

impl Call for ReadDirectory<'_> {
    type Value = Vec<String>;

    fn header(&self) -> Header {
        Header::new(CallKind::ReadDirectory, 0, [0; 2])
    }

    fn effect(&mut self, core: &mut Core, _caller: Caller, _injected: Option<Injected>) -> Effect<Vec<String>> {
        core.disk.read_dir(self.path).into()
    }

    fn number(&self, names: &Vec<String>) -> u64 {
        names.len() as u64
    }

    fn data(&self, _value: Option<&Vec<String>>) -> &[u8] {
        self.path.as_bytes()
    }
}

impl Sys {
    /// Gives a file another name, in one step; a file that has the new name goes (rename(2)).
    ///
    /// # Errors
    /// ENOENT, EISDIR, ENOTDIR, ENOTEMPTY, EINVAL.
    pub async fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.call(TwoPaths::new(CallKind::Rename, from, to)).await
    }

    /// Gives a file a second name (link(2)).
    ///
    /// # Errors
    /// ENOENT, EEXIST, EPERM for a directory.
    pub async fn link(&self, existing: &str, new: &str) -> Result<()> {
        self.call(TwoPaths::new(CallKind::Link, existing, new)).await
    }

    /// Removes a name; the file goes with its last name and descriptor (unlink(2)).
    ///
    /// # Errors
    /// ENOENT, EISDIR.
    pub async fn unlink(&self, path: &str) -> Result<()> {
        self.call(OnePath { path, kind: CallKind::Unlink }).await
    }

    /// Makes a directory (mkdir(2)).
    ///
    /// # Errors
    /// ENOENT, EEXIST, ENOTDIR.
    pub async fn mkdir(&self, path: &str) -> Result<()> {
        self.call(OnePath { path, kind: CallKind::MakeDirectory }).await
    }

    /// Removes an empty directory (rmdir(2)).
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, ENOTEMPTY.
    pub async fn rmdir(&self, path: &str) -> Result<()> {
        self.call(OnePath { path, kind: CallKind::RemoveDirectory }).await
    }

    /// The names in a directory, sorted (readdir(3)).
    ///
    /// # Errors
    /// ENOENT, ENOTDIR.
    pub async fn read_dir(&self, path: &str) -> Result<Vec<String>> {
        self.call(ReadDirectory { path }).await
    }

    /// What a path names (stat(2)).
    ///
    /// # Errors
    /// ENOENT, ENOTDIR.
    pub async fn stat(&self, path: &str) -> Result<Stat> {
        self.call(StatPath { path }).await
    }

    /// Makes a directory's entries durable: open, fsync, close.
    ///
    /// # Errors
    /// As [`Sys::open`] and [`crate::sys::File::sync`].
    pub async fn sync_dir(&self, path: &str) -> Result<()> {
        let directory = self.open(path, OpenFlags::DIRECTORY).await?;
        let synced = directory.sync().await;
        directory.close().await?;
        synced
    }
}
