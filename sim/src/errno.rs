//! The errors of the simulated operating system, in POSIX's words.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a system call failed (POSIX.1-2017 `<errno.h>`; the number is Linux's).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Errno {
    /// EPERM
    #[error("operation not permitted (EPERM)")]
    NotPermitted = 1,
    /// ENOENT
    #[error("no such file or directory (ENOENT)")]
    NoEntry = 2,
    /// ESRCH
    #[error("no such process (ESRCH)")]
    NoProcess = 3,
    /// EINTR
    #[error("interrupted by a signal (EINTR)")]
    Interrupted = 4,
    /// EIO
    #[error("input/output error (EIO)")]
    Io = 5,
    /// EBADF
    #[error("bad file descriptor (EBADF)")]
    BadDescriptor = 9,
    /// EAGAIN
    #[error("would block (EAGAIN)")]
    WouldBlock = 11,
    /// EACCES
    #[error("permission denied (EACCES)")]
    Access = 13,
    /// EEXIST
    #[error("file exists (EEXIST)")]
    Exists = 17,
    /// ENOTDIR
    #[error("not a directory (ENOTDIR)")]
    NotDirectory = 20,
    /// EISDIR
    #[error("is a directory (EISDIR)")]
    IsDirectory = 21,
    /// EINVAL
    #[error("invalid argument (EINVAL)")]
    Invalid = 22,
    /// EMFILE
    #[error("too many open files (EMFILE)")]
    TooManyOpen = 24,
    /// EFBIG
    #[error("file too large (EFBIG)")]
    TooLarge = 27,
    /// ENOSPC
    #[error("no space left on device (ENOSPC)")]
    NoSpace = 28,
    /// EPIPE
    #[error("broken pipe (EPIPE)")]
    BrokenPipe = 32,
    /// EDEADLK
    #[error("resource deadlock avoided (EDEADLK)")]
    Deadlock = 35,
    /// ENAMETOOLONG
    #[error("file name too long (ENAMETOOLONG)")]
    NameTooLong = 36,
    /// ENOTEMPTY
    #[error("directory not empty (ENOTEMPTY)")]
    NotEmpty = 39,
    /// ETIMEDOUT
    #[error("timed out (ETIMEDOUT)")]
    TimedOut = 110,
    /// The calling process is dead: its code runs only to let destructors and C frames leave. Nothing takes effect.
    #[error("the process has been killed")]
    Dead = 255,
    // From here on in the order in which they came: traces number them by their places.
    /// EMSGSIZE
    #[error("message too long (EMSGSIZE)")]
    MessageTooLong = 90,
    /// EADDRINUSE
    #[error("address already in use (EADDRINUSE)")]
    AddressInUse = 98,
}
