//! The DNS vocabulary: names, record types, record data, RRset contents, and how a record's
//! name is placed in a zone.
//!
//! Everything here is a value: parsed once at the edge, compared on decoded content and printed
//! for a given server version. What should exist, and what is done about it, is decided in
//! `plan`; how it travels is the business of `powerdns`.

pub mod name;
mod presentation;
pub mod rdata;
pub mod rrset;
pub mod zone;
