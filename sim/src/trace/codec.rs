//! The one module that names bincode: claims and trace files are encoded here. Decoding has a size limit.

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// The most bytes that one value may decode to: a damaged length must not exhaust memory.
const DECODED_BYTES_MAX: usize = 64 << 20;

/// Why bytes can't be decoded.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct CodecError(String);

/// Encodes a value. Integers have a variable length, little endian, so that traces are the same on every machine.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    // Most claims fit, and a vector that grows byte by byte asks for memory four times.
    let mut bytes = Vec::with_capacity(96);
    encode_into(&mut bytes, value);
    bytes
}

/// Encodes a value at the end of `bytes`, as [`encode`] does.
pub fn encode_into<T: Serialize>(bytes: &mut Vec<u8>, value: &T) {
    let encoded = bincode::serde::encode_into_std_write(value, bytes, bincode::config::standard());
    encoded.expect("plain data always encodes, and memory takes it");
}

/// Decodes a value that fills the bytes.
///
/// # Errors
/// Bytes that are no such value, are left over, or ask for too much memory.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    let (value, used) = decode_prefix(bytes)?;
    if used == bytes.len() { Ok(value) } else { Err(CodecError(format!("{} bytes are left over", bytes.len() - used))) }
}

/// Decodes a value from the front of the bytes; says how many it took.
///
/// # Errors
/// As [`decode`].
pub fn decode_prefix<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, usize), CodecError> {
    let config = bincode::config::standard().with_limit::<DECODED_BYTES_MAX>();
    bincode::serde::decode_from_slice(bytes, config).map_err(|error| CodecError(error.to_string()))
}
