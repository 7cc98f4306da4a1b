//! The compound file of old Office: a file system of sectors. Only as much of it as finding a stream takes.

use crate::format::Format;
use crate::limits::{Limits, Meter};
use crate::sink::{Outcome, broken};

pub(crate) const SIGNATURE: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";

const END: u32 = 0xFFFF_FFFA;

pub(crate) struct Cfb<'a> {
    bytes: &'a [u8],
    sector: usize,
    fat: Vec<u32>,
    mini_fat: Vec<u32>,
    mini: Vec<u8>,
    /// Streams by name, with their first sector and size.
    pub(crate) streams: Vec<(String, u32, u64)>,
}

impl<'a> Cfb<'a> {
    pub(crate) fn open(bytes: &'a [u8], meter: &Meter) -> Outcome<Cfb<'a>> {
        if bytes.len() < 512 || !bytes.starts_with(SIGNATURE) {
            return broken("it is not a compound file");
        }
        let sector = match u16_at(bytes, 30) {
            9 => 512,
            12 => 4096,
            _ => return broken("its sector size is unknown"),
        };
        let mut file = Cfb {
            bytes,
            sector,
            fat: Vec::new(),
            mini_fat: Vec::new(),
            mini: Vec::new(),
            streams: Vec::new(),
        };
        file.read_fat(meter)?;
        let directory = file.chain(u32_at(bytes, 48), u64::MAX, meter)?;
        let mini_fat = file.chain(u32_at(bytes, 60), u64::MAX, meter)?;
        file.mini_fat = mini_fat.chunks_exact(4).map(|word| u32_at(word, 0)).collect();
        for entry in directory.chunks_exact(128) {
            meter.spend(1)?;
            let (start, size) = (u32_at(entry, 116), u64::from(u32_at(entry, 120)));
            match entry[66] {
                5 => file.mini = file.chain(start, size, meter)?,
                2 => {
                    let length = usize::from(u16_at(entry, 64)).saturating_sub(2).min(62);
                    let units: Vec<u16> =
                        entry[..length].chunks_exact(2).map(|pair| u16_at(pair, 0)).collect();
                    file.streams.push((String::from_utf16_lossy(&units), start, size));
                }
                _ => {}
            }
        }
        Ok(file)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.streams.iter().any(|(stream, ..)| stream.eq_ignore_ascii_case(name))
    }

    pub(crate) fn stream(&self, name: &str, meter: &Meter) -> Outcome<Option<Vec<u8>>> {
        let Some((_, start, size)) =
            self.streams.iter().find(|(stream, ..)| stream.eq_ignore_ascii_case(name))
        else {
            return Ok(None);
        };
        if *size >= 4096 {
            return self.chain(*start, *size, meter).map(Some);
        }
        let mut out = Vec::new();
        let mut at = *start;
        while at < END && (out.len() as u64) < *size {
            meter.spend(1)?;
            let from = at as usize * 64;
            let Some(piece) = self.mini.get(from..(from + 64).min(self.mini.len())) else { break };
            out.extend_from_slice(piece);
            // A chain longer than the file goes round in circles.
            if out.len() > self.mini.len() {
                break;
            }
            at = self.mini_fat.get(at as usize).copied().unwrap_or(u32::MAX);
        }
        out.truncate(usize::try_from(*size).unwrap_or(usize::MAX));
        Ok(Some(out))
    }

    fn read_fat(&mut self, meter: &Meter) -> Outcome {
        let most = self.bytes.len() / self.sector + 1;
        let mut tables: Vec<u32> = (0..109).map(|index| u32_at(self.bytes, 76 + index * 4)).collect();
        let mut next = u32_at(self.bytes, 68);
        let mut seen = 0;
        while next < END && seen < most {
            meter.spend(1)?;
            let Some(sector) = self.at(next) else { break };
            let words = sector.len() / 4;
            tables.extend((0..words.saturating_sub(1)).map(|index| u32_at(sector, index * 4)));
            next = u32_at(sector, words.saturating_sub(1) * 4);
            seen += 1;
        }
        for table in tables.into_iter().filter(|table| *table < END).take(most) {
            meter.spend(1)?;
            let Some(sector) = self.at(table) else { continue };
            let words: Vec<u32> = sector.chunks_exact(4).map(|word| u32_at(word, 0)).collect();
            self.fat.extend(words);
        }
        Ok(())
    }

    fn at(&self, sector: u32) -> Option<&'a [u8]> {
        let start = (sector as usize).checked_add(1)?.checked_mul(self.sector)?;
        self.bytes.get(start..(start + self.sector).min(self.bytes.len()))
    }

    fn chain(&self, start: u32, size: u64, meter: &Meter) -> Outcome<Vec<u8>> {
        let mut out = Vec::new();
        let mut at = start;
        while at < END && (out.len() as u64) < size {
            meter.spend(1)?;
            let Some(sector) = self.at(at) else { break };
            out.extend_from_slice(sector);
            if out.len() > self.bytes.len() {
                break;
            }
            at = self.fat.get(at as usize).copied().unwrap_or(u32::MAX);
        }
        out.truncate(usize::try_from(size).unwrap_or(usize::MAX));
        Ok(out)
    }
}

/// Which format a compound file is, if any that is told apart.
pub(crate) fn sniff(bytes: &[u8]) -> Option<Format> {
    let meter = Meter::new(&Limits { max_steps: 1_000_000, ..Limits::default() });
    let file = Cfb::open(bytes, &meter).ok()?;
    let kinds = [
        ("Workbook", Format::Xls),
        ("Book", Format::Xls),
        ("WordDocument", Format::Doc),
        ("PowerPoint Document", Format::Ppt),
        ("__properties_version1.0", Format::Msg),
    ];
    kinds.into_iter().find(|(stream, _)| file.has(stream)).map(|(_, format)| format)
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |two| u16::from_le_bytes([two[0], two[1]]))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}
