//! Where causes are looked for, one file a kind.

pub(super) mod before;
mod chains;
pub(super) mod classes;
pub(super) mod copies;
pub(super) mod host;
pub(super) mod kernels;
pub(super) mod limits;
mod loading;
pub(super) mod waits;
