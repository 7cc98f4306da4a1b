//! The file's structure: where each object lies, by the tables or, where these are broken, by looking.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::crypt::Crypt;
use super::filter::{self, Filters};
use super::object::{Dict, Lexer, Object, Stream, is_regular};
use crate::limits::Meter;
use crate::sink::Outcome;

#[derive(Debug, Clone, Copy)]
enum ObjectPlace {
    At(usize),
    /// In an object stream, so many objects on.
    In(u32, u32),
}

pub(super) struct File<'a> {
    bytes: &'a [u8],
    pub(super) meter: &'a Meter,
    places: RefCell<HashMap<u32, ObjectPlace>>,
    pub(super) trailer: RefCell<Dict>,
    cache: RefCell<HashMap<u32, Rc<Object>>>,
    /// Object streams, unpacked: their objects by number.
    packed: RefCell<HashMap<u32, Rc<Vec<(u32, Object)>>>>,
    /// Those that are being read: a stream may give its length as a reference to itself.
    reading: RefCell<HashSet<u32>>,
    recovered: RefCell<bool>,
    crypt: RefCell<Option<Crypt>>,
}

/// Whether a password is needed for the text.
#[derive(Debug, PartialEq)]
pub(super) enum Locked {
    No,
    ByPassword,
}

/// References to references; one is legal.
const MOST_HOPS: usize = 16;
/// Sections of tables, one per saved version of the file.
const MOST_TABLES: usize = 4096;
const MOST_OBJECTS: u64 = 10_000_000;

impl<'a> File<'a> {
    pub(super) fn open(bytes: &'a [u8], meter: &'a Meter) -> Outcome<File<'a>> {
        // Offsets count from the header, and some mail programs put something before it.
        let head = &bytes[..bytes.len().min(1024)];
        let start = memchr::memmem::find(head, b"%PDF-").unwrap_or(0);
        let file = File {
            bytes: &bytes[start..],
            meter,
            places: RefCell::default(),
            trailer: RefCell::default(),
            cache: RefCell::default(),
            packed: RefCell::default(),
            reading: RefCell::default(),
            recovered: RefCell::new(false),
            crypt: RefCell::new(None),
        };
        if !file.tables()? || file.root()?.is_none() {
            file.recover()?;
        }
        Ok(file)
    }

    /// Makes ready to decrypt, if that takes no password.
    pub(super) fn unlock(&self) -> Outcome<Locked> {
        let Some(encrypt) = self.trailer.borrow().get("Encrypt").cloned() else { return Ok(Locked::No) };
        let encrypt = self.resolve(&encrypt)?;
        let Some(encrypt) = encrypt.dict() else { return Ok(Locked::No) };
        let id = match self.trailer.borrow().get("ID").cloned() {
            Some(id) => {
                self.resolve(&id)?.array().and_then(|ids| ids.first()?.string()).unwrap_or_default().to_vec()
            }
            None => Vec::new(),
        };
        let mut plain = Dict::default();
        for (key, value) in &encrypt.0 {
            plain.0.push((key.clone(), (*self.resolve(value)?).clone()));
        }
        match Crypt::open(&plain, &id) {
            Some(crypt) => {
                *self.crypt.borrow_mut() = Some(crypt);
                self.cache.borrow_mut().clear();
                self.packed.borrow_mut().clear();
                Ok(Locked::No)
            }
            None => Ok(Locked::ByPassword),
        }
    }

    /// The catalog.
    pub(super) fn root(&self) -> Outcome<Option<Rc<Object>>> {
        let Some(root) = self.trailer.borrow().get("Root").cloned() else { return Ok(None) };
        let root = self.resolve(&root)?;
        Ok(root.dict().is_some_and(|root| root.get("Pages").is_some()).then_some(root))
    }

    /// The object that a reference means, or the object itself.
    pub(super) fn resolve(&self, object: &Object) -> Outcome<Rc<Object>> {
        let mut object = match object {
            Object::Ref(number) => self.get(*number)?,
            other => return Ok(Rc::new(other.clone())),
        };
        for _ in 0..MOST_HOPS {
            match &*object {
                Object::Ref(number) => object = self.get(*number)?,
                _ => return Ok(object),
            }
        }
        Ok(Rc::new(Object::Null))
    }

    /// A value of a dictionary, resolved.
    pub(super) fn value(&self, dict: &Dict, key: &str) -> Outcome<Option<Rc<Object>>> {
        match dict.get(key) {
            Some(value) => {
                let value = self.resolve(value)?;
                Ok((*value != Object::Null).then_some(value))
            }
            None => Ok(None),
        }
    }

    fn get(&self, number: u32) -> Outcome<Rc<Object>> {
        if let Some(known) = self.cache.borrow().get(&number) {
            return Ok(known.clone());
        }
        self.meter.spend(20)?;
        if !self.reading.borrow_mut().insert(number) {
            return Ok(Rc::new(Object::Null));
        }
        let result = self.load(number);
        self.reading.borrow_mut().remove(&number);
        let object = Rc::new(result?);
        self.cache.borrow_mut().insert(number, object.clone());
        Ok(object)
    }

    fn load(&self, number: u32) -> Outcome<Object> {
        for _ in 0..2 {
            let place = self.places.borrow().get(&number).copied();
            match place {
                Some(ObjectPlace::At(at)) => {
                    if let Some(object) = self.object_at(at, Some(number))? {
                        return Ok(object);
                    }
                }
                Some(ObjectPlace::In(stream, index)) => {
                    let objects = self.object_stream(stream)?;
                    let given = objects.get(index as usize).filter(|(known, _)| *known == number);
                    let found = given.or_else(|| objects.iter().find(|(known, _)| *known == number));
                    if let Some((_, object)) = found {
                        return Ok(object.clone());
                    }
                }
                None => {
                    if *self.recovered.borrow() || self.places.borrow().len() > 2 {
                        return Ok(Object::Null);
                    }
                }
            }
            // The tables lie.
            if *self.recovered.borrow() {
                break;
            }
            self.recover()?;
        }
        Ok(Object::Null)
    }

    /// `12 0 obj …`; with a number only if it is that one.
    fn object_at(&self, at: usize, wanted: Option<u32>) -> Outcome<Option<Object>> {
        let mut lexer = Lexer::new(self.bytes, at);
        let (Some(number), Some(generation)) = (lexer.integer(), lexer.integer()) else { return Ok(None) };
        if !lexer.word("obj") || wanted.is_some_and(|wanted| u64::from(wanted) != number) {
            return Ok(None);
        }
        let Some(mut object) = lexer.object() else { return Ok(None) };
        let generation = u16::try_from(generation).unwrap_or(0);
        if let (Some(crypt), Ok(number)) = (&*self.crypt.borrow(), u32::try_from(number)) {
            object.change_strings(&mut |string| crypt.string(string, number, generation));
        }
        let Object::Dict(dict) = object else { return Ok(Some(object)) };
        if !lexer.word("stream") {
            return Ok(Some(Object::Dict(dict)));
        }
        match lexer.peek() {
            Some(b'\r') => lexer.at += if self.bytes.get(lexer.at + 1) == Some(&b'\n') { 2 } else { 1 },
            Some(b'\n') => lexer.at += 1,
            _ => {}
        }
        let start = lexer.at;
        let length = match self.value(&dict, "Length")? {
            Some(length) => length.integer().and_then(|length| usize::try_from(length).ok()),
            None => None,
        };
        let stated = length.and_then(|length| start.checked_add(length)).filter(|end| {
            let mut after = Lexer::new(self.bytes, *end);
            *end <= self.bytes.len() && after.word("endstream")
        });
        let end = stated.unwrap_or_else(|| {
            let rest = &self.bytes[start..];
            let end = memchr::memmem::find(rest, b"endstream");
            let end = end.or_else(|| memchr::memmem::find(rest, b"endobj")).unwrap_or(rest.len());
            start + end
        });
        Ok(Some(Object::Stream(Rc::new(Stream {
            dict,
            range: start..end,
            number: u32::try_from(number).unwrap_or(0),
            generation,
        }))))
    }

    /// The bytes of a stream, decoded; `None` if they are a picture.
    pub(super) fn decoded(&self, stream: &Stream) -> Outcome<Option<Cow<'a, [u8]>>> {
        let filters = self.filters(stream)?;
        filter::decode(self.raw(stream, &filters)?, &filters, self.meter)
    }

    /// The bytes of a stream as they are stored, decrypted.
    pub(super) fn raw(&self, stream: &Stream, filters: &Filters) -> Outcome<Cow<'a, [u8]>> {
        let raw = &self.bytes[stream.range.clone()];
        self.meter.spend(1 + raw.len() as u64 / 256)?;
        let is_plain = stream.dict.get("Type").is_some_and(|kind| kind.is_name("XRef"))
            || filters.first().is_some_and(|(name, _)| name == b"Crypt");
        Ok(match &*self.crypt.borrow() {
            Some(crypt) if !is_plain => Cow::Owned(crypt.stream(raw, stream.number, stream.generation)),
            _ => Cow::Borrowed(raw),
        })
    }

    /// The codings of a stream; their parameters have no references left, but for streams.
    pub(super) fn filters(&self, stream: &Stream) -> Outcome<Vec<(Vec<u8>, Dict)>> {
        let mut filters = Vec::new();
        let named = self.value(&stream.dict, "Filter")?.or(self.value(&stream.dict, "F")?);
        let parameters = self.value(&stream.dict, "DecodeParms")?.or(self.value(&stream.dict, "DP")?);
        let names: Vec<Object> = match named.as_deref() {
            Some(Object::Array(names)) => names.clone(),
            Some(name) => vec![name.clone()],
            None => Vec::new(),
        };
        for (index, name) in names.iter().take(16).enumerate() {
            let name = self.resolve(name)?;
            let own = match parameters.as_deref() {
                Some(Object::Array(all)) => all.get(index).map(|one| self.resolve(one)).transpose()?,
                Some(one) => Some(Rc::new(one.clone())),
                None => None,
            };
            let mut dict = own.as_deref().and_then(Object::dict).cloned().unwrap_or_default();
            for (_, value) in &mut dict.0 {
                *value = (*self.resolve(value)?).clone();
            }
            filters.push((name.name().unwrap_or_default().to_vec(), dict));
        }
        Ok(filters)
    }

    fn object_stream(&self, number: u32) -> Outcome<Rc<Vec<(u32, Object)>>> {
        if let Some(known) = self.packed.borrow().get(&number) {
            return Ok(known.clone());
        }
        // An object stream lies in the file itself, or it could lie in itself.
        let at = self.places.borrow().get(&number).copied();
        let mut objects = Vec::new();
        if let Some(ObjectPlace::At(at)) = at
            && let Some(Object::Stream(stream)) = self.object_at(at, Some(number))?
        {
            objects = self.objects_of(&stream)?;
        }
        let objects = Rc::new(objects);
        self.packed.borrow_mut().insert(number, objects.clone());
        Ok(objects)
    }

    fn objects_of(&self, stream: &Stream) -> Outcome<Vec<(u32, Object)>> {
        let number = |key: &str| -> Outcome<usize> {
            let value = self.value(&stream.dict, key)?.and_then(|value| value.integer());
            Ok(value.and_then(|value| usize::try_from(value).ok()).unwrap_or(0))
        };
        let (count, first) = (number("N")?, number("First")?);
        let Some(bytes) = self.decoded(stream)? else { return Ok(Vec::new()) };
        let mut head = Lexer::new(&bytes, 0);
        let mut objects = Vec::new();
        for _ in 0..count {
            self.meter.spend(5)?;
            let (Some(number), Some(offset)) = (head.integer(), head.integer()) else { break };
            let at = usize::try_from(offset).unwrap_or(usize::MAX).saturating_add(first);
            let object = Lexer::new(&bytes, at).object().unwrap_or(Object::Null);
            objects.push((u32::try_from(number).unwrap_or(0), object));
        }
        Ok(objects)
    }

    /// Reads the tables from the last one back. False if there are none that can be read.
    fn tables(&self) -> Outcome<bool> {
        let Some(found) = memchr::memmem::rfind(self.bytes, b"startxref") else { return Ok(false) };
        let Some(start) = Lexer::new(self.bytes, found + 9).integer() else { return Ok(false) };
        let mut todo = vec![start];
        let mut seen = HashSet::new();
        while let Some(at) = todo.pop() {
            self.meter.spend(10)?;
            if !seen.insert(at) || seen.len() > MOST_TABLES {
                continue;
            }
            let Ok(at) = usize::try_from(at) else { continue };
            let mut lexer = Lexer::new(self.bytes, at);
            let dict = if lexer.word("xref") {
                self.table(&mut lexer)?
            } else {
                match self.object_at(at, None)? {
                    Some(Object::Stream(stream)) => {
                        self.table_stream(&stream)?;
                        Some(stream.dict.clone())
                    }
                    _ => None,
                }
            };
            let Some(dict) = dict else {
                if seen.len() == 1 {
                    return Ok(false);
                }
                continue;
            };
            let next =
                |key: &str| dict.get(key).and_then(Object::integer).and_then(|at| u64::try_from(at).ok());
            // The stream of a file with both goes before older tables.
            todo.extend(next("Prev"));
            todo.extend(next("XRefStm"));
            let mut trailer = self.trailer.borrow_mut();
            for (key, value) in dict.0 {
                if trailer.get(std::str::from_utf8(&key).unwrap_or_default()).is_none() {
                    trailer.0.push((key, value));
                }
            }
        }
        Ok(!self.places.borrow().is_empty())
    }

    fn table(&self, lexer: &mut Lexer<'_>) -> Outcome<Option<Dict>> {
        loop {
            if lexer.word("trailer") {
                return Ok(match lexer.object() {
                    Some(Object::Dict(dict)) => Some(dict),
                    _ => None,
                });
            }
            let (Some(first), Some(count)) = (lexer.integer(), lexer.integer()) else { return Ok(None) };
            for index in 0..count.min(MOST_OBJECTS) {
                self.meter.spend(1)?;
                let (Some(at), Some(_)) = (lexer.integer(), lexer.integer()) else { return Ok(None) };
                lexer.blanks();
                let kind = lexer.peek();
                lexer.at += 1;
                if kind == Some(b'n') && at > 0 {
                    self.place(
                        first.saturating_add(index),
                        ObjectPlace::At(usize::try_from(at).unwrap_or(usize::MAX)),
                    );
                }
            }
        }
    }

    fn table_stream(&self, stream: &Stream) -> Outcome {
        let Some(bytes) = self.decoded(stream)? else { return Ok(()) };
        let numbers = |key: &str| -> Vec<u64> {
            let array = stream.dict.get(key).and_then(Object::array).unwrap_or_default();
            array.iter().filter_map(|one| u64::try_from(one.integer()?).ok()).collect()
        };
        let widths: Vec<usize> = numbers("W").into_iter().map(|width| width.min(8) as usize).collect();
        let [kind, second, third] = widths.as_slice() else { return Ok(()) };
        let row = kind + second + third;
        if row == 0 {
            return Ok(());
        }
        let mut index = numbers("Index");
        if index.is_empty() {
            index = vec![
                0,
                stream.dict.get("Size").and_then(Object::integer).unwrap_or(0).max(0).cast_unsigned(),
            ];
        }
        let mut rows = bytes.chunks_exact(row);
        for pair in index.chunks_exact(2) {
            for offset in 0..pair[1].min(MOST_OBJECTS) {
                self.meter.spend(1)?;
                let Some(entry) = rows.next() else { return Ok(()) };
                let field = |range: std::ops::Range<usize>| {
                    entry[range].iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte))
                };
                let first = if *kind == 0 { 1 } else { field(0..*kind) };
                let (a, b) = (field(*kind..kind + second), field(kind + second..row));
                let number = pair[0].saturating_add(offset);
                match first {
                    1 => self.place(number, ObjectPlace::At(usize::try_from(a).unwrap_or(usize::MAX))),
                    2 => self.place(
                        number,
                        ObjectPlace::In(u32::try_from(a).unwrap_or(0), u32::try_from(b).unwrap_or(u32::MAX)),
                    ),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The newest table is read first, so the first place counts.
    fn place(&self, number: u64, place: ObjectPlace) {
        if let Ok(number) = u32::try_from(number) {
            self.places.borrow_mut().entry(number).or_insert(place);
        }
    }

    /// Looks through the whole file for objects.
    fn recover(&self) -> Outcome {
        if self.recovered.replace(true) {
            return Ok(());
        }
        self.cache.borrow_mut().clear();
        self.packed.borrow_mut().clear();
        let mut places: HashMap<u32, ObjectPlace> = HashMap::new();
        for at in memchr::memmem::find_iter(self.bytes, b"obj") {
            self.meter.spend(2)?;
            if let Some((number, start)) = self.before_obj(at) {
                // The last of a number is the newest.
                places.insert(number, ObjectPlace::At(start));
            }
        }
        *self.places.borrow_mut() = places;
        let starts: Vec<usize> = {
            let places = self.places.borrow();
            let mut starts: Vec<usize> = places
                .values()
                .filter_map(|place| match place {
                    ObjectPlace::At(at) => Some(*at),
                    ObjectPlace::In(..) => None,
                })
                .collect();
            starts.sort_unstable();
            starts
        };
        let mut trailer = Dict::default();
        for at in memchr::memmem::find_iter(self.bytes, b"trailer") {
            self.meter.spend(10)?;
            if let Some(Object::Dict(dict)) = Lexer::new(self.bytes, at + 7).object() {
                merge(&mut trailer, dict);
            }
        }
        for start in starts {
            self.meter.spend(10)?;
            let head = &self.bytes[start..self.bytes.len().min(start + 400)];
            let has = |word: &str| memchr::memmem::find(head, word.as_bytes()).is_some();
            if has("ObjStm") {
                if let Some(Object::Stream(stream)) = self.object_at(start, None)? {
                    let objects = self.objects_of(&stream)?;
                    for (index, (number, _)) in objects.iter().enumerate() {
                        let place = ObjectPlace::In(stream.number, u32::try_from(index).unwrap_or(u32::MAX));
                        self.places.borrow_mut().entry(*number).or_insert(place);
                    }
                    self.packed.borrow_mut().insert(stream.number, Rc::new(objects));
                }
            } else if has("XRef")
                && let Some(Object::Stream(stream)) = self.object_at(start, None)?
            {
                merge(&mut trailer, stream.dict.clone());
            }
        }
        *self.trailer.borrow_mut() = trailer;
        if self.root()?.is_none()
            && let Some(number) = self.find(|dict| dict.get("Pages").is_some() && is_type(dict, "Catalog"))?
        {
            let mut trailer = self.trailer.borrow_mut();
            trailer.0.retain(|(key, _)| &**key != b"Root");
            trailer.0.push((b"Root".as_slice().into(), Object::Ref(number)));
        }
        Ok(())
    }

    /// `12 0 ` before an `obj`.
    fn before_obj(&self, at: usize) -> Option<(u32, usize)> {
        let back = |mut at: usize, wanted: fn(u8) -> bool| {
            while at > 0 && wanted(self.bytes[at - 1]) {
                at -= 1;
            }
            at
        };
        let blank = |byte: u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'\0');
        let generation_end = back(at, blank);
        let generation = back(generation_end, |byte| byte.is_ascii_digit());
        let number_end = back(generation, blank);
        let number = back(number_end, |byte| byte.is_ascii_digit());
        if generation == generation_end || number == number_end || number_end == generation {
            return None;
        }
        if number > 0 && is_regular(self.bytes[number - 1]) {
            return None;
        }
        let digits = std::str::from_utf8(&self.bytes[number..number_end]).ok()?;
        Some((digits.parse().ok()?, number))
    }

    /// The first object by number whose dictionary is wanted, of all there are.
    pub(super) fn find(&self, wanted: impl Fn(&Dict) -> bool) -> Outcome<Option<u32>> {
        Ok(self.find_all(wanted, 1)?.first().copied())
    }

    pub(super) fn find_all(&self, wanted: impl Fn(&Dict) -> bool, most: usize) -> Outcome<Vec<u32>> {
        let mut numbers: Vec<u32> = self.places.borrow().keys().copied().collect();
        numbers.sort_unstable();
        let mut found = Vec::new();
        for number in numbers {
            let object = self.get(number)?;
            if let Object::Dict(dict) = &*object
                && wanted(dict)
            {
                found.push(number);
                if found.len() >= most {
                    break;
                }
            }
        }
        Ok(found)
    }
}

pub(super) fn is_type(dict: &Dict, name: &str) -> bool {
    dict.get("Type").is_some_and(|kind| kind.is_name(name))
}

/// The newer values win.
fn merge(into: &mut Dict, from: Dict) {
    for (key, value) in from.0 {
        into.0.retain(|(known, _)| *known != key);
        into.0.push((key, value));
    }
}
