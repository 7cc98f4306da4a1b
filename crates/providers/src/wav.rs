//! Reads and writes WAV files with one channel of 16-bit samples, as speech programs and services give and take them.

/// A sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sound {
    pub(crate) rate: u32,
    pub(crate) samples: Vec<i16>,
}

/// A program that writes to a pipe does not know the length in advance, so what it says of it is not relied on.
pub(crate) fn read(file: &[u8]) -> Option<Sound> {
    if !file.starts_with(b"RIFF") || file.get(8..12)? != b"WAVE" {
        return None;
    }
    let mut rest = &file[12..];
    let mut rate = None;
    loop {
        let (head, content) = rest.split_at_checked(8)?;
        let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        match &head[..4] {
            b"fmt " => {
                let field = |at: usize| Some(u16::from_le_bytes([*content.get(at)?, *content.get(at + 1)?]));
                let is_plain = (field(0)?, field(2)?, field(14)?) == (1, 1, 16);
                rate = is_plain.then(|| content.get(4..8)?.try_into().ok().map(u32::from_le_bytes)).flatten();
            }
            b"data" => {
                let content = &content[..length.min(content.len())];
                let samples =
                    content.as_chunks::<2>().0.iter().map(|bytes| i16::from_le_bytes(*bytes)).collect();
                return Some(Sound { rate: rate?, samples });
            }
            _ => {}
        }
        rest = content.get(length.next_multiple_of(2)..)?;
    }
}

impl Sound {
    pub(crate) fn to_file(&self) -> Vec<u8> {
        let samples: Vec<u8> = self.samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        write(self.rate, &samples)
    }
}

/// A file of samples of two bytes each, the low one first.
pub(crate) fn write(rate: u32, samples: &[u8]) -> Vec<u8> {
    let length = samples.len() as u32;
    let mut file = Vec::with_capacity(44 + samples.len());
    file.extend_from_slice(b"RIFF");
    file.extend_from_slice(&(36 + length).to_le_bytes());
    file.extend_from_slice(b"WAVEfmt ");
    file.extend_from_slice(&16u32.to_le_bytes());
    // Plain samples, one channel.
    file.extend_from_slice(&1u16.to_le_bytes());
    file.extend_from_slice(&1u16.to_le_bytes());
    file.extend_from_slice(&rate.to_le_bytes());
    file.extend_from_slice(&(2 * rate).to_le_bytes());
    file.extend_from_slice(&2u16.to_le_bytes());
    file.extend_from_slice(&16u16.to_le_bytes());
    file.extend_from_slice(b"data");
    file.extend_from_slice(&length.to_le_bytes());
    file.extend_from_slice(samples);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let sound = Sound { rate: 22_050, samples: vec![0, 1, -1, i16::MAX, i16::MIN] };
        let file = sound.to_file();
        assert_eq!(read(&file), Some(sound.clone()));
        // From a pipe the length is unknown, and other parts may come first.
        let mut piped = file.clone();
        piped[40..44].fill(0xFF);
        assert_eq!(read(&piped), Some(sound.clone()));
        let mut listed = file[..36].to_vec();
        listed.extend_from_slice(b"LIST\x03\0\0\0abc\0");
        listed.extend_from_slice(&file[36..]);
        assert_eq!(read(&listed), Some(sound));
        for cut in 0..44 {
            assert_eq!(read(&file[..cut]), None, "{cut}");
        }
    }
}
