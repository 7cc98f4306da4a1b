//! Files that are encrypted and yet open without a password, which is most of them: printing or copying is what
//! they forbid.

use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes256, Block};
use md5::{Digest, Md5};
use sha2::{Sha256, Sha384, Sha512};

use super::object::{Dict, Object};

const PADDING: [u8; 32] = [
    0x28, 0xBF, 0x4E, 0x5E, 0x4E, 0x75, 0x8A, 0x41, 0x64, 0x00, 0x4E, 0x56, 0xFF, 0xFA, 0x01, 0x08, 0x2E,
    0x2E, 0x00, 0xB6, 0xD0, 0x68, 0x3E, 0x80, 0x2F, 0x0C, 0xA9, 0xFE, 0x64, 0x53, 0x69, 0x7A,
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Method {
    None,
    Rc4,
    Aes128,
    Aes256,
}

#[derive(Debug)]
pub(super) struct Crypt {
    key: Vec<u8>,
    streams: Method,
    strings: Method,
}

impl Crypt {
    /// The key for the empty password, if that opens the file. `encrypt` has no references left.
    pub(super) fn open(encrypt: &Dict, id: &[u8]) -> Option<Crypt> {
        if !encrypt.get("Filter")?.is_name("Standard") {
            return None;
        }
        let number = |key: &str| encrypt.get(key).and_then(Object::integer);
        let version = number("V").unwrap_or(0);
        let revision = number("R")?;
        let (streams, strings) = match version {
            1..=3 => (Method::Rc4, Method::Rc4),
            4 | 5 => (method(encrypt, "StmF")?, method(encrypt, "StrF")?),
            _ => return None,
        };
        if version == 5 {
            return Some(Crypt { key: key_256(encrypt, revision)?, streams, strings });
        }
        let bits =
            if version == 1 { 40 } else { number("Length").unwrap_or(if version == 4 { 128 } else { 40 }) };
        // Some writers give bytes.
        let bits = if bits < 40 { bits * 8 } else { bits };
        let length = usize::try_from(bits / 8).ok()?.clamp(5, 16);
        let length = if version == 4 { 16 } else { length };
        let key = key_128(encrypt, id, revision, length)?;
        Some(Crypt { key, streams, strings })
    }

    /// The bytes of a stream, which is an object of its own.
    pub(super) fn stream(&self, bytes: &[u8], number: u32, generation: u16) -> Vec<u8> {
        self.decrypt(self.streams, bytes, number, generation)
    }

    /// The bytes of a string within an object.
    pub(super) fn string(&self, bytes: &[u8], number: u32, generation: u16) -> Vec<u8> {
        self.decrypt(self.strings, bytes, number, generation)
    }

    fn decrypt(&self, method: Method, bytes: &[u8], number: u32, generation: u16) -> Vec<u8> {
        let object_key = |salt: &[u8]| {
            let mut hash = Md5::new();
            hash.update(&self.key);
            hash.update(&number.to_le_bytes()[..3]);
            hash.update(generation.to_le_bytes());
            hash.update(salt);
            hash.finalize()[..(self.key.len() + 5).min(16)].to_vec()
        };
        match method {
            Method::None => bytes.to_vec(),
            Method::Rc4 => rc4(&object_key(b""), bytes),
            Method::Aes128 => match Aes128::new_from_slice(&object_key(b"sAlT")) {
                Ok(cipher) => cbc(&cipher, bytes),
                Err(_) => Vec::new(),
            },
            Method::Aes256 => match Aes256::new_from_slice(&self.key) {
                Ok(cipher) => cbc(&cipher, bytes),
                Err(_) => Vec::new(),
            },
        }
    }
}

/// How streams or strings are encrypted, by the key that says so.
fn method(encrypt: &Dict, key: &str) -> Option<Method> {
    let Some(name) = encrypt.get(key).and_then(Object::name) else { return Some(Method::None) };
    let filters = encrypt.get("CF").and_then(Object::dict);
    let filter = filters.and_then(|filters| filters.get(std::str::from_utf8(name).ok()?));
    Some(match filter.and_then(Object::dict).and_then(|filter| filter.get("CFM")).and_then(Object::name) {
        Some(b"V2") => Method::Rc4,
        Some(b"AESV2") => Method::Aes128,
        Some(b"AESV3") => Method::Aes256,
        Some(b"None") | None => Method::None,
        Some(_) => return None,
    })
}

fn key_128(encrypt: &Dict, id: &[u8], revision: i64, length: usize) -> Option<Vec<u8>> {
    let owner = encrypt.get("O")?.string()?;
    let user = encrypt.get("U")?.string()?;
    let permissions = encrypt.get("P")?.integer()?;
    let mut hash = Md5::new();
    hash.update(PADDING);
    hash.update(owner.get(..32)?);
    hash.update((permissions as u32).to_le_bytes());
    hash.update(id);
    if revision >= 4 && encrypt.get("EncryptMetadata") == Some(&Object::Bool(false)) {
        hash.update([0xFF; 4]);
    }
    let mut key = hash.finalize().to_vec();
    if revision >= 3 {
        for _ in 0..50 {
            key = Md5::digest(&key[..length]).to_vec();
        }
    }
    key.truncate(length);
    let right = if revision == 2 {
        user.get(..32)? == rc4(&key, &PADDING)
    } else {
        let mut check = Md5::digest([&PADDING, id].concat()).to_vec();
        for round in 0..20u8 {
            let round_key: Vec<u8> = key.iter().map(|byte| byte ^ round).collect();
            check = rc4(&round_key, &check);
        }
        user.get(..16)? == check
    };
    right.then_some(key)
}

fn key_256(encrypt: &Dict, revision: i64) -> Option<Vec<u8>> {
    let user = encrypt.get("U")?.string()?;
    let sealed = encrypt.get("UE")?.string()?;
    let hash = |salt: &[u8]| if revision >= 6 { hash_6(salt) } else { Sha256::digest(salt).to_vec() };
    if hash(user.get(32..40)?) != user.get(..32)? {
        return None;
    }
    let cipher = Aes256::new_from_slice(&hash(user.get(40..48)?)).ok()?;
    let mut key = Vec::with_capacity(32);
    let mut before = [0u8; 16];
    for chunk in sealed.get(..32)?.chunks_exact(16) {
        key.extend(decrypt_block(&cipher, chunk, &before));
        before.copy_from_slice(chunk);
    }
    Some(key)
}

/// Algorithm 2.B of ISO 32000-2, for the empty password.
fn hash_6(salt: &[u8]) -> Vec<u8> {
    let mut key = Sha256::digest(salt).to_vec();
    let mut round = 0usize;
    loop {
        let mut data = key.repeat(64);
        let Ok(cipher) = Aes128::new_from_slice(&key[..16]) else { return key };
        let mut before: [u8; 16] = key[16..32].try_into().unwrap_or_default();
        for chunk in data.chunks_exact_mut(16) {
            let mut block = Block::default();
            for (index, byte) in chunk.iter().enumerate() {
                block[index] = byte ^ before[index];
            }
            cipher.encrypt_block(&mut block);
            chunk.copy_from_slice(&block);
            before.copy_from_slice(chunk);
        }
        let remainder = data[..16].iter().map(|byte| u32::from(*byte)).sum::<u32>() % 3;
        key = match remainder {
            0 => Sha256::digest(&data).to_vec(),
            1 => Sha384::digest(&data).to_vec(),
            _ => Sha512::digest(&data).to_vec(),
        };
        round += 1;
        let last = usize::from(data.last().copied().unwrap_or(0));
        if round >= 64 && last + 32 <= round {
            key.truncate(32);
            return key;
        }
    }
}

fn decrypt_block<C>(cipher: &C, chunk: &[u8], before: &[u8; 16]) -> [u8; 16]
where
    C: BlockCipherDecrypt + aes::cipher::BlockSizeUser<BlockSize = aes::cipher::consts::U16>,
{
    let mut block = Block::default();
    block.copy_from_slice(chunk);
    cipher.decrypt_block(&mut block);
    let mut out = [0u8; 16];
    for (index, byte) in out.iter_mut().enumerate() {
        *byte = block[index] ^ before[index];
    }
    out
}

/// The first block is the vector, the last one says how much of it is padding.
fn cbc<C>(cipher: &C, bytes: &[u8]) -> Vec<u8>
where
    C: BlockCipherDecrypt + aes::cipher::BlockSizeUser<BlockSize = aes::cipher::consts::U16>,
{
    let Some((vector, body)) = bytes.split_at_checked(16) else { return Vec::new() };
    let mut before: [u8; 16] = vector.try_into().unwrap_or_default();
    let mut out = Vec::with_capacity(body.len());
    for chunk in body.chunks_exact(16) {
        out.extend(decrypt_block(cipher, chunk, &before));
        before.copy_from_slice(chunk);
    }
    let padding = usize::from(out.last().copied().unwrap_or(0));
    if (1..=16).contains(&padding) && padding <= out.len() {
        out.truncate(out.len() - padding);
    }
    out
}

fn rc4(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    if key.is_empty() {
        return bytes.to_vec();
    }
    let mut state: [u8; 256] = std::array::from_fn(|index| index as u8);
    let mut j = 0u8;
    for i in 0..256 {
        j = j.wrapping_add(state[i]).wrapping_add(key[i % key.len()]);
        state.swap(i, usize::from(j));
    }
    let (mut i, mut j) = (0u8, 0u8);
    let next = |byte: &u8| {
        i = i.wrapping_add(1);
        j = j.wrapping_add(state[usize::from(i)]);
        state.swap(usize::from(i), usize::from(j));
        let sum = state[usize::from(i)].wrapping_add(state[usize::from(j)]);
        byte ^ state[usize::from(sum)]
    };
    bytes.iter().map(next).collect()
}

#[cfg(test)]
mod tests {
    use super::rc4;

    #[test]
    fn the_stream_cipher() {
        assert_eq!(rc4(b"Key", b"Plaintext"), b"\xBB\xF3\x16\xE8\xD9\x40\xAF\x0A\xD3");
    }
}
