//! The smallest compound file with one stream, for what old Office keeps in it.

const SECTOR: usize = 512;
const END: u32 = 0xFFFF_FFFE;
const FREE: u32 = 0xFFFF_FFFF;
const TABLE: u32 = 0xFFFF_FFFD;

pub(crate) fn cfb(name: &str, stream: &[u8]) -> Vec<u8> {
    // Below 4096 bytes a stream would lie in the small sectors.
    let mut stream = stream.to_vec();
    stream.resize(stream.len().max(4096).next_multiple_of(SECTOR), 0);
    let sectors = (stream.len() / SECTOR) as u32;
    let tables = (sectors + 1).div_ceil(127);
    let mut out = vec![0u8; SECTOR];
    out[..8].copy_from_slice(&[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1]);
    for (at, short) in [(24, 0x3Eu16), (26, 3), (28, 0xFFFE), (30, 9), (32, 6)] {
        out[at..at + 2].copy_from_slice(&short.to_le_bytes());
    }
    // Tables first, then the directory, then the stream.
    let words = [(44, tables), (48, tables), (56, 4096), (60, END), (64, 0), (68, END), (72, 0)];
    for (at, word) in words {
        out[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    for index in 0..109u32 {
        let at = 76 + index as usize * 4;
        out[at..at + 4].copy_from_slice(&if index < tables { index } else { FREE }.to_le_bytes());
    }
    let first = tables + 1;
    let next = |sector: u32| match sector {
        _ if sector < tables => TABLE,
        _ if sector == tables => END,
        _ if sector + 1 < first + sectors => sector + 1,
        _ if sector + 1 == first + sectors => END,
        _ => FREE,
    };
    out.extend((0..tables * 128).flat_map(|sector| next(sector).to_le_bytes()));
    out.extend(entry("Root Entry", 5, 1, END, 0));
    out.extend(entry(name, 2, FREE, first, stream.len() as u64));
    out.extend([0; 256]);
    out.extend(stream);
    out
}

fn entry(name: &str, kind: u8, child: u32, start: u32, size: u64) -> Vec<u8> {
    let mut out = vec![0u8; 128];
    let wide: Vec<u8> = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
    out[..wide.len()].copy_from_slice(&wide);
    out[64..66].copy_from_slice(&(wide.len() as u16).to_le_bytes());
    out[66] = kind;
    out[67] = 1;
    for (at, word) in [(68, FREE), (72, FREE), (76, child), (116, start)] {
        out[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    out[120..128].copy_from_slice(&size.to_le_bytes());
    out
}
