//! Server-sent events, as language models stream them: only the `data` of each event counts.

/// Bytes of one event.
const LARGEST: usize = 1 << 20;

/// Takes bytes as they arrive and gives the data of complete events.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return, so that a line feed after it ends no further line.
    after_return: bool,
}

/// An event is larger than any that a model sends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventTooLarge;

impl EventReader {
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        mut on_data: impl FnMut(String),
    ) -> Result<(), EventTooLarge> {
        for &byte in bytes {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = byte == b'\r';
                    if let Some(data) = self.end_line() {
                        on_data(data);
                    }
                }
                _ => {
                    self.after_return = false;
                    self.line.push(byte);
                    if self.line.len() + self.data.len() > LARGEST {
                        return Err(EventTooLarge);
                    }
                }
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return std::mem::take(&mut self.has_data).then(|| String::from_utf8_lossy(&data).into_owned());
        }
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        if let Some(value) = line.strip_prefix(b"data:") {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            self.has_data = true;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8], size: usize) -> Vec<String> {
        let (mut reader, mut events) = (EventReader::default(), Vec::new());
        for piece in bytes.chunks(size) {
            reader.feed(piece, |data| events.push(data)).unwrap();
        }
        events
    }

    const STREAM: &str = "\u{feff}data: {\"a\":1}\n\n: comment\r\nevent: x\r\nid: 3\r\ndata:é\r\ndata: two\r\n\r\ndata\n\n\
                          data: [DONE]\r\rdata: not complete\n";

    #[test]
    fn events_arrive_whole_however_the_bytes_are_cut() {
        for size in 1..STREAM.len() {
            assert_eq!(read(STREAM.as_bytes(), size), ["{\"a\":1}", "é\ntwo", "[DONE]"], "pieces of {size}");
        }
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut reader = EventReader::default();
        reader.feed(b"data: ", |_| ()).unwrap();
        assert_eq!(reader.feed(&vec![b'x'; LARGEST + 1], |_| ()), Err(EventTooLarge));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_alike_in_any_pieces(bytes in proptest::collection::vec(any::<u8>(), 0..200), size in 1usize..20) {
            prop_assert_eq!(read(&bytes, size), read(&bytes, 1000));
        }
    }
}
