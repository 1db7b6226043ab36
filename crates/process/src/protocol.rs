//! The protocol between rangefinder and its guardian.
//!
//! Frames of a little-endian `u32` length and JSON over a Unix stream socket.
//! The first frame carries the child's descriptors beside it.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use record::{Ending, Leftover, Usage};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The largest frame either side accepts: an environment and an argv, with room.
const LARGEST_FRAME: u32 = 64 << 20;

/// stdin, stdout, stderr, and the user's terminal where there is one.
pub(super) const MOST_DESCRIPTORS: usize = 4;

/// What to start. Sent once, with the descriptors for stdin, stdout and stderr,
/// and the user's terminal as a fourth when `session` is [`Session::Terminal`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Launch {
    pub(super) argv: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) cwd: PathBuf,
    pub(super) session: Session,
    /// SIGINT ends the child even if our parent ignores it.
    pub(super) heeds_interrupt: bool,
    /// Signals that are not ignored, though whoever starts us makes us ignore them.
    pub(super) heeds: Vec<i32>,
    /// How long descendants may outlive the child before they are terminated.
    pub(super) linger_ms: u64,
    /// How long everything may take to end once the child was told to.
    pub(super) grace_ms: u64,
    /// How many files the child may have open, if that is not what we may.
    pub(super) open_files: Option<u64>,
    /// Removed when everything is over, however it ends.
    pub(super) remove: Vec<PathBuf>,
}

/// How the child relates to terminals and job control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Session {
    /// A session of its own whose controlling terminal is a pty of ours.
    Terminal,
    /// Our own process group (its id), so that the user's terminal serves both.
    Shared(i32),
    /// A session of its own without a terminal.
    Own,
}

/// rangefinder → guardian.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Pass a signal to the child's process group.
    Signal(i32),
    /// Pass a signal to the child alone, which goes on.
    Message(i32),
    /// The user brought a stopped job back.
    Continue,
    /// SIGKILL every descendant now.
    Kill,
}

/// guardian → rangefinder.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum News {
    Started { pid: i32 },
    NotStarted { errno: i32 },
    Stopped,
    Exited { ending: Ending },
    Ended { usage: Usage, leftovers: Vec<Leftover> },
}

pub(super) fn send<T: Serialize>(socket: &mut UnixStream, message: &T) -> io::Result<()> {
    socket.write_all(&frame(message)?)
}

pub(super) fn receive<T: DeserializeOwned>(socket: &mut UnixStream) -> io::Result<Option<T>> {
    let mut header = [0; 4];
    match socket.read_exact(&mut header) {
        Ok(()) => body(socket, header).map(Some),
        Err(error) if ended(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn send_launch(
    socket: &mut UnixStream,
    launch: &Launch,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let frame = frame(launch)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(descriptors));
    let (header, rest) = frame.split_at(4);
    let sent = sendmsg(&*socket, &[IoSlice::new(header)], &mut control, SendFlags::NOSIGNAL)?;
    socket.write_all(&header[sent..])?;
    socket.write_all(rest)
}

pub(super) fn receive_launch(socket: &mut UnixStream) -> io::Result<(Launch, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut header = [0; 4];
    let got = recvmsg(&*socket, &mut [IoSliceMut::new(&mut header)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    socket.read_exact(&mut header[got.bytes..])?;
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Ok((body(socket, header)?, descriptors))
}

fn frame<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = u32::try_from(frame.len() - 4).unwrap_or(u32::MAX);
    if length > LARGEST_FRAME {
        return Err(io::Error::other("argv and environment are larger than 64 MiB"));
    }
    frame[..4].copy_from_slice(&length.to_le_bytes());
    Ok(frame)
}

fn body<T: DeserializeOwned>(socket: &mut UnixStream, header: [u8; 4]) -> io::Result<T> {
    let length = u32::from_le_bytes(header);
    if length > LARGEST_FRAME {
        return Err(io::Error::other("frame is too large"));
    }
    let mut bytes = vec![0; length as usize];
    socket.read_exact(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

fn ended(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset)
}
