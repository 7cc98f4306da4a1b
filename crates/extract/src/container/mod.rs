//! The boxes that documents come in, read without writing anything anywhere.

pub(crate) mod cfb;
pub(crate) mod inflate;
pub(crate) mod tar;
pub(crate) mod zip;
