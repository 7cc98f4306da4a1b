//! Zip by its central directory: one list of members, each with a place that no other member claims.

use std::borrow::Cow;
use std::collections::HashMap;

use flate2::read::DeflateDecoder;
use model::SkipReason;

use super::inflate;
use crate::format::Format;
use crate::limits::{Limit, Meter};
use crate::sink::{Halt, Outcome, broken};

#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// As the archive has it, unchecked.
    pub(crate) name: String,
    pub(crate) is_link: bool,
    pub(crate) encrypted: bool,
    pub(crate) size: u64,
    method: u16,
    packed: u64,
    header: u64,
}

impl Member {
    pub(crate) fn packed_size(&self) -> u64 {
        self.packed
    }
}

pub(crate) struct Zip<'a> {
    bytes: &'a [u8],
    /// In the order of the directory.
    pub(crate) members: Vec<Member>,
    by_name: HashMap<String, usize>,
}

impl<'a> Zip<'a> {
    pub(crate) fn open(bytes: &'a [u8], meter: &Meter) -> Outcome<Zip<'a>> {
        let members = directory(bytes, meter)?;
        overlaps(&members)?;
        let mut by_name = HashMap::with_capacity(members.len());
        for (index, member) in members.iter().enumerate() {
            // The first of two is what the office programs read.
            by_name.entry(member.name.trim_start_matches('/').to_ascii_lowercase()).or_insert(index);
        }
        Ok(Zip { bytes, members, by_name })
    }

    /// A part by its name, whatever the case: the office formats compare so.
    pub(crate) fn find(&self, name: &str) -> Option<&Member> {
        let name = name.trim_start_matches('/').to_ascii_lowercase();
        self.by_name.get(&name).map(|index| &self.members[*index])
    }

    /// The content of a part, if there is such a part.
    pub(crate) fn part(&self, name: &str, meter: &Meter) -> Outcome<Option<Cow<'a, [u8]>>> {
        self.find(name).map(|member| self.read(member, meter)).transpose()
    }

    /// The content of a member.
    pub(crate) fn read(&self, member: &Member, meter: &Meter) -> Outcome<Cow<'a, [u8]>> {
        if member.encrypted {
            return broken(format!("{} needs a password", member.name));
        }
        let packed = self.packed(member)?;
        match member.method {
            0 => {
                let (most, limit) = meter.allowance(packed.len() as u64);
                if packed.len() as u64 > most {
                    return Err(limit.into());
                }
                meter.unpacked(packed.len() as u64);
                Ok(Cow::Borrowed(packed))
            }
            8 => {
                let stream = DeflateDecoder::new(packed);
                let (bytes, problem) = inflate::read_some(stream, packed.len() as u64, meter)?;
                match problem {
                    Some(problem) if bytes.is_empty() => broken(format!("{}: {problem}", member.name)),
                    _ => Ok(Cow::Owned(bytes)),
                }
            }
            other => broken(format!("{} is packed by method {other}", member.name)),
        }
    }

    /// The packed bytes. A file that was cut may have lost the end of them.
    fn packed(&self, member: &Member) -> Outcome<&'a [u8]> {
        let header = usize::try_from(member.header).ok();
        let fixed = header.and_then(|at| self.bytes.get(at..at.checked_add(30)?));
        let Some((header, fixed)) = header.zip(fixed).filter(|(_, fixed)| fixed.starts_with(b"PK\x03\x04"))
        else {
            return broken(format!("{} is not where the directory says", member.name));
        };
        let start = header + 30 + usize::from(u16_at(fixed, 26)) + usize::from(u16_at(fixed, 28));
        let end = start.saturating_add(usize::try_from(member.packed).unwrap_or(usize::MAX));
        match self.bytes.get(start..end.min(self.bytes.len())) {
            Some(packed) => Ok(packed),
            None => broken(format!("{} is cut off", member.name)),
        }
    }
}

/// Which format a zip is. Unpacks nothing but the small file that names the type.
pub(crate) fn sniff(bytes: &[u8]) -> Format {
    let meter = Meter::new(&crate::Limits { max_member_bytes: 4096, ..crate::Limits::default() });
    let Ok(members) = directory(bytes, &meter) else { return by_first_names(bytes) };
    let zip = Zip { bytes, members, by_name: HashMap::new() };
    let first = zip.members.iter().find(|member| member.name == "mimetype");
    if let Some(mimetype) = first.and_then(|member| zip.read(member, &meter).ok()) {
        let kinds: &[(&[u8], Format)] = &[
            (b"application/epub+zip", Format::Epub),
            (b"application/vnd.oasis.opendocument.text", Format::Odt),
            (b"application/vnd.oasis.opendocument.spreadsheet", Format::Ods),
            (b"application/vnd.oasis.opendocument.presentation", Format::Odp),
        ];
        if let Some((_, format)) =
            kinds.iter().find(|(kind, _)| mimetype.trim_ascii_start().starts_with(kind))
        {
            return *format;
        }
    }
    if !zip.members.iter().any(|member| member.name.eq_ignore_ascii_case("[Content_Types].xml")) {
        return Format::Zip;
    }
    by_names(zip.members.iter().map(|member| member.name.as_str())).unwrap_or(Format::Zip)
}

fn by_names<'n>(names: impl Iterator<Item = &'n str>) -> Option<Format> {
    for name in names {
        let name = name.trim_start_matches('/').to_ascii_lowercase();
        match name.as_str() {
            "word/document.xml" | "word/document2.xml" => return Some(Format::Docx),
            "ppt/presentation.xml" => return Some(Format::Pptx),
            "xl/workbook.xml" => return Some(Format::Xlsx),
            "xl/workbook.bin" => return Some(Format::Xlsb),
            _ => {}
        }
    }
    None
}

/// For a file whose directory was cut off: the names in the headers before the members.
fn by_first_names(bytes: &[u8]) -> Format {
    let members = headers(bytes, 1000);
    by_names(members.iter().map(|member| member.name.as_str())).unwrap_or(Format::Zip)
}

/// The central directory.
fn directory(bytes: &[u8], meter: &Meter) -> Outcome<Vec<Member>> {
    let Some((count, mut at)) = end_of_directory(bytes) else {
        // Cut off: the headers before the members say the same, but for their sizes.
        let members = headers(bytes, meter.limits().max_members as usize);
        return if members.is_empty() { broken("the zip directory is missing") } else { Ok(members) };
    };
    let most = u64::from(meter.limits().max_members);
    if count > most {
        return Err(Limit::Members.into());
    }
    let mut members = Vec::new();
    while let Some(entry) = bytes.get(at..).filter(|rest| rest.len() >= 46 && rest.starts_with(b"PK\x01\x02"))
    {
        meter.spend(1)?;
        if members.len() as u64 >= most {
            return Err(Limit::Members.into());
        }
        let [name, extra, comment] = [28, 30, 32].map(|place| usize::from(u16_at(entry, place)));
        let Some(name_bytes) = entry.get(46..46 + name) else { break };
        let flags = u16_at(entry, 8);
        let mut member = Member {
            name: member_name(name_bytes, flags & 0x800 != 0),
            // The mode of Unix systems is in the upper half.
            is_link: entry[5] == 3 && u32_at(entry, 38) >> 28 == 0xA,
            encrypted: flags & 1 != 0 || u16_at(entry, 10) == 99,
            size: u32_at(entry, 24).into(),
            method: u16_at(entry, 10),
            packed: u32_at(entry, 20).into(),
            header: u32_at(entry, 42).into(),
        };
        zip64(entry.get(46 + name..46 + name + extra).unwrap_or_default(), &mut member);
        members.push(member);
        at += 46 + name + extra + comment;
    }
    if members.is_empty() && count > 0 {
        let members = headers(bytes, most as usize);
        return if members.is_empty() { broken("the zip directory is damaged") } else { Ok(members) };
    }
    Ok(members)
}

/// The number of members and where their list begins.
fn end_of_directory(bytes: &[u8]) -> Option<(u64, usize)> {
    // A comment of up to 65,535 bytes follows.
    let from = bytes.len().saturating_sub(22 + 65_535);
    let end = from + memchr::memmem::rfind(&bytes[from..], b"PK\x05\x06")?;
    let record = bytes.get(end..end + 22)?;
    let (mut count, mut at) = (u64::from(u16_at(record, 10)), u64::from(u32_at(record, 16)));
    let mut size = u64::from(u32_at(record, 12));
    let locator = end.checked_sub(20).and_then(|at| bytes.get(at..end));
    if let Some(locator) = locator.filter(|locator| locator.starts_with(b"PK\x06\x07")) {
        let place = usize::try_from(u64_at(locator, 8)).ok();
        let record = place.and_then(|at| bytes.get(at..at.checked_add(56)?));
        if let Some(record) = record.filter(|record| record.starts_with(b"PK\x06\x06")) {
            (count, size, at) = (u64_at(record, 32), u64_at(record, 40), u64_at(record, 48));
        }
    }
    let at = usize::try_from(at).ok()?;
    if bytes.get(at..)?.starts_with(b"PK\x01\x02") || count == 0 {
        return Some((count, at));
    }
    // Something was put before the archive, so that every offset is short by its length.
    let found = end.checked_sub(usize::try_from(size).ok()?)?;
    bytes.get(found..)?.starts_with(b"PK\x01\x02").then_some((count, found))
}

/// The 64-bit sizes and offset, where the 32-bit ones say so.
fn zip64(mut extra: &[u8], member: &mut Member) {
    while extra.len() >= 4 {
        let length = usize::from(u16_at(extra, 2));
        let Some(field) = extra.get(4..4 + length) else { return };
        if u16_at(extra, 0) == 1 {
            let mut values = field.chunks_exact(8).map(|value| u64_at(value, 0));
            for value in [&mut member.size, &mut member.packed, &mut member.header] {
                if *value == u64::from(u32::MAX) {
                    *value = values.next().unwrap_or(*value);
                }
            }
        }
        extra = &extra[4 + length..];
    }
}

/// Members by the headers before them, for archives that were cut.
fn headers(bytes: &[u8], most: usize) -> Vec<Member> {
    let starts: Vec<usize> = memchr::memmem::find_iter(bytes, b"PK\x03\x04").take(most).collect();
    let mut members = Vec::new();
    for (index, start) in starts.iter().enumerate() {
        let Some(header) = bytes.get(*start..start + 30) else { break };
        let name = usize::from(u16_at(header, 26));
        let Some(name) = bytes.get(start + 30..start + 30 + name) else { break };
        let flags = u16_at(header, 6);
        let next = starts.get(index + 1).copied().unwrap_or(bytes.len());
        let known = u64::from(u32_at(header, 18));
        let packed = if known > 0 && flags & 8 == 0 { known } else { (next - start) as u64 };
        members.push(Member {
            name: member_name(name, flags & 0x800 != 0),
            is_link: false,
            encrypted: flags & 1 != 0,
            size: u32_at(header, 22).into(),
            method: u16_at(header, 8),
            packed,
            header: *start as u64,
        });
    }
    members
}

/// Two members that share their bytes are how 42 kB become petabytes.
fn overlaps(members: &[Member]) -> Outcome {
    let mut places: Vec<(u64, u64)> =
        members.iter().map(|member| (member.header, member.header.saturating_add(member.packed))).collect();
    places.sort_unstable();
    if places.windows(2).any(|pair| pair[1].0 < pair[0].1) {
        return Err(Halt::Skip(SkipReason::Refused {
            format: "zip".into(),
            detail: "its members share their bytes, as in a zip bomb".into(),
        }));
    }
    Ok(())
}

fn member_name(bytes: &[u8], utf8: bool) -> String {
    match std::str::from_utf8(bytes) {
        Ok(name) => name.to_owned(),
        Err(_) if utf8 => String::from_utf8_lossy(bytes).into_owned(),
        // The specification says code page 437; what is found is mostly the Windows page.
        Err(_) => encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(),
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |two| u16::from_le_bytes([two[0], two[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
