//! A load generator: clients that send the same request again and again, each on its own connection.

use std::time::{Duration, Instant};

use testkit::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::measure::cpu_of;

#[derive(Debug, Default)]
pub(crate) struct Load {
    requests: u64,
    wall: Duration,
    cpu: Duration,
}

impl Load {
    pub(crate) fn add(&mut self, other: Load) {
        self.requests += other.requests;
        self.wall += other.wall;
        self.cpu += other.cpu;
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.requests as f64 / self.wall.as_secs_f64()
    }

    /// CPU time of the server for one request.
    pub(crate) fn cpu_each(&self) -> Duration {
        self.cpu / u32::try_from(self.requests.max(1)).unwrap_or(u32::MAX)
    }
}

/// Sends the request from `clients` connections for a while. `server` is the process that answers.
pub(crate) fn run(
    address: &str,
    request: &Request,
    server: u32,
    clients: usize,
    time: Duration,
) -> Result<Load, String> {
    let bytes = request.encode(address);
    let runtime = tokio::runtime::Runtime::new().map_err(crate::text)?;
    runtime.block_on(async {
        let before = cpu_of(server)?;
        let started = Instant::now();
        let deadline = started + time;
        let tasks: Vec<_> =
            (0..clients).map(|_| tokio::spawn(client(address.to_owned(), bytes.clone(), deadline))).collect();
        let mut requests = 0;
        for task in tasks {
            requests += task.await.map_err(|error| error.to_string())??;
        }
        Ok(Load { requests, wall: started.elapsed(), cpu: cpu_of(server)?.saturating_sub(before) })
    })
}

async fn client(address: String, request: Vec<u8>, deadline: Instant) -> Result<u64, String> {
    let mut stream = TcpStream::connect(&address).await.map_err(crate::text)?;
    stream.set_nodelay(true).map_err(crate::text)?;
    let mut buffer = Vec::with_capacity(64 * 1024);
    let mut count = 0;
    while Instant::now() < deadline {
        stream.write_all(&request).await.map_err(crate::text)?;
        buffer.clear();
        let head = loop {
            if stream.read_buf(&mut buffer).await.map_err(crate::text)? == 0 {
                return Err("the server closed the connection".into());
            }
            if let Some(end) = find(&buffer, b"\r\n\r\n") {
                break end + 4;
            }
        };
        if !buffer.starts_with(b"HTTP/1.1 200") {
            return Err(String::from_utf8_lossy(&buffer).lines().next().unwrap_or_default().to_owned());
        }
        let headers = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
        let length = headers.lines().find_map(|line| line.strip_prefix("content-length:"));
        match length.and_then(|text| text.trim().parse::<usize>().ok()) {
            Some(length) => {
                while buffer.len() < head + length {
                    if stream.read_buf(&mut buffer).await.map_err(crate::text)? == 0 {
                        return Err("the server closed the connection".into());
                    }
                }
            }
            // Chunked: the last chunk is empty.
            None => {
                while !buffer.ends_with(b"0\r\n\r\n") {
                    if stream.read_buf(&mut buffer).await.map_err(crate::text)? == 0 {
                        return Err("the server closed the connection".into());
                    }
                }
            }
        }
        count += 1;
    }
    Ok(count)
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
