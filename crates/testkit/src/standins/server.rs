//! The least HTTP/1.1 server that can behave and misbehave: a thread for each connection.

use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use serde_json::json;

use super::{Fault, Reply, SeenRequest, Service, Shared};

/// A listening server. Dropping it ends it and all of its connections.
pub(super) struct Listening {
    pub(super) address: SocketAddr,
    is_ending: Arc<AtomicBool>,
    connections: Arc<Mutex<Vec<TcpStream>>>,
    thread: Option<JoinHandle<()>>,
}

impl Listening {
    pub(super) fn start(shared: &Arc<Shared>, address: SocketAddr) -> Listening {
        let listener = TcpListener::bind(address).expect("a port on loopback");
        let address = listener.local_addr().expect("it is bound");
        let is_ending = Arc::new(AtomicBool::new(false));
        let connections: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let (shared, ending, open) = (Arc::clone(shared), Arc::clone(&is_ending), Arc::clone(&connections));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if ending.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                if let Ok(copy) = stream.try_clone() {
                    open.lock().unwrap_or_else(PoisonError::into_inner).push(copy);
                }
                let shared = Arc::clone(&shared);
                // A client that goes away is not the stand-in's failure.
                thread::spawn(move || drop(serve(&shared, stream)));
            }
        });
        Listening { address, is_ending, connections, thread: Some(thread) }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        for connection in self.connections.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

/// Answers the requests of one connection.
fn serve(shared: &Shared, stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some(request) = SeenRequest::read(&mut reader)? {
        let fault = shared.begin(&request);
        let reply = match &fault {
            Some(Fault::Hang) => {
                // Until the client gives up.
                let ended = reader.read(&mut [0; 64]);
                shared.count(|counts| counts.abandoned += 1);
                return ended.map(drop);
            }
            Some(Fault::Close) => return writer.shutdown(Shutdown::Both),
            Some(Fault::WaitAtGate) => {
                shared.wait_at_gate();
                checked(shared, &request, None)
            }
            Some(Fault::Status(status)) => shared.error(*status, "on demand"),
            Some(Fault::Refuse(message)) => {
                let key = request.header("authorization").or(request.header("xi-api-key"));
                let key = key.unwrap_or_default().trim_start_matches("Bearer ");
                shared.error(400, &message.replace("{key}", key))
            }
            Some(Fault::RateLimited(header)) => {
                let headers: Vec<(&str, &str)> =
                    header.iter().map(|(name, value)| (*name, value.as_str())).collect();
                write(&mut writer, &shared.error(429, "Rate limit exceeded"), &headers)?;
                continue;
            }
            Some(Fault::Redirect(target)) => {
                write(&mut writer, &Reply::Json(307, json!({})), &[("location", target)])?;
                continue;
            }
            Some(Fault::WrongShape) => Reply::Json(200, json!({ "something": ["else"] })),
            Some(Fault::NotJson) => Reply::Bytes("text/html", b"<html>Welcome to the proxy</html>".to_vec()),
            Some(Fault::Huge(size)) => Reply::Bytes("application/json", vec![b' '; *size]),
            Some(Fault::CutOff) => {
                cut_off(&mut writer, &checked(shared, &request, None))?;
                return writer.shutdown(Shutdown::Both);
            }
            Some(Fault::Dimensions(_) | Fault::OneTooFew) | None => checked(shared, &request, fault.as_ref()),
        };
        write(&mut writer, &reply, &[])?;
    }
    Ok(())
}

/// The answer, if the key is right.
fn checked(shared: &Shared, request: &SeenRequest, fault: Option<&Fault>) -> Reply {
    let sent = match shared.service {
        Service::ElevenLabs => request.header("xi-api-key"),
        _ => request.header("authorization").and_then(|value| value.strip_prefix("Bearer ")),
    };
    match &shared.key {
        Some(key) if sent != Some(key) => shared.error(401, "Unauthorized"),
        _ => shared.answer(request, fault),
    }
}

fn write(stream: &mut TcpStream, reply: &Reply, headers: &[(&str, &str)]) -> io::Result<()> {
    let (status, kind, body) = encode(reply);
    let mut head =
        format!("HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)
}

/// Half of the answer.
fn cut_off(stream: &mut TcpStream, reply: &Reply) -> io::Result<()> {
    let (status, kind, body) = encode(reply);
    let head =
        format!("HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body[..body.len() / 2])
}

fn encode(reply: &Reply) -> (u16, &'static str, Vec<u8>) {
    match reply {
        Reply::Json(status, body) => (*status, "application/json", body.to_string().into_bytes()),
        Reply::Bytes(kind, body) => (200, kind, body.clone()),
        Reply::Events(events) => {
            let body: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
            (200, "text/event-stream; charset=utf-8", body.into_bytes())
        }
    }
}
