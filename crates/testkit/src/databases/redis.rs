//! Redis without persistence, from Debian's package.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::guarded::{Guarded, ServerPlan, Shared, free_port, server_folder};

/// Each test has one of them to itself.
const DATABASES: u64 = 4096;

/// A database of a server on a free loopback port.
#[derive(Debug)]
pub struct Redis {
    port: u16,
    number: u64,
    private: Option<(PathBuf, Mutex<Option<Guarded>>)>,
}

impl Redis {
    /// A database of the server that all tests of a run share.
    pub fn shared() -> Redis {
        static SHARED: OnceLock<Shared> = OnceLock::new();
        let shared = SHARED.get_or_init(|| {
            let answers = |port: &str| {
                port.parse().is_ok_and(|port: u16| TcpStream::connect(("127.0.0.1", port)).is_ok())
            };
            Shared::join("redis", prepare, answers).unwrap_or_else(|error| panic!("{error}{}", hint()))
        });
        let port = shared.address.parse().expect("the address is a port");
        let taken = Redis { port, number: 0, private: None }.command(&["INCR", "databases-taken"]);
        let number = 1 + taken.trim().parse::<u64>().unwrap_or(0) % (DATABASES - 1);
        let redis = Redis { port, number, private: None };
        redis.command(&["FLUSHDB"]);
        redis
    }

    /// A server of one's own that can be stopped.
    pub fn private() -> Redis {
        let mut last = String::new();
        for _ in 0..3 {
            let started = prepare().and_then(|(folder, plan, port)| {
                let running = Guarded::start(&folder, &plan)?;
                let port = port.parse().map_err(|_| "no port")?;
                Ok(Redis { port, number: 0, private: Some((folder, Mutex::new(Some(running)))) })
            });
            match started {
                Ok(redis) => return redis,
                Err(error) => last = error,
            }
        }
        panic!("{last}{}", hint());
    }

    /// For `files.redis.url`.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/{}", self.port, self.number)
    }

    /// The answer to a command, as text; lines where there are several.
    pub fn command(&self, command: &[&str]) -> String {
        let mut client = Command::new("redis-cli");
        client.args(["--raw", "-p", &self.port.to_string(), "-n", &self.number.to_string()]).args(command);
        let done = client.stdin(Stdio::null()).output();
        let done = done.unwrap_or_else(|error| panic!("redis-cli: {error}{}", hint()));
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Everything that is stored, keys and values, to look for what must not be there.
    pub fn dump(&self) -> String {
        let keys = self.command(&["KEYS", "*"]);
        let values = keys
            .lines()
            .filter(|key| !key.is_empty())
            .map(|key| format!("{key}={}", self.command(&["GET", key])));
        values.collect()
    }

    pub fn stop(&self) {
        let (_, running) = self.private.as_ref().expect("a shared server stays as it is");
        if let Some(server) = running.lock().unwrap_or_else(PoisonError::into_inner).take() {
            server.stop();
        }
    }

    /// Starts the server again, on the same port and empty.
    pub fn start(&self) {
        let (folder, running) = self.private.as_ref().expect("a shared server stays as it is");
        let server = Guarded::start(folder, &plan(self.port)).unwrap_or_else(|error| panic!("{error}"));
        *running.lock().unwrap_or_else(PoisonError::into_inner) = Some(server);
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        if let Some((folder, running)) = &self.private {
            running.lock().unwrap_or_else(PoisonError::into_inner).take();
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

fn prepare() -> Result<(PathBuf, ServerPlan, String), String> {
    let port = free_port()?;
    Ok((server_folder("-redis", true)?, plan(port), port.to_string()))
}

fn plan(port: u16) -> ServerPlan {
    let text = port.to_string();
    let databases = DATABASES.to_string();
    let command = [
        "redis-server",
        "--port",
        &text,
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--appendonly",
        "no",
        "--databases",
        &databases,
        "--daemonize",
        "no",
    ];
    ServerPlan {
        command: command.iter().map(Into::into).collect(),
        ready: format!("redis-cli -p {port} info server | tr -d '\\r' | grep -qx process_id:$SERVER"),
        stop: "TERM",
    }
}

fn hint() -> &'static str {
    let there = Path::new("/usr/bin/redis-server").exists();
    if there { "" } else { "; redis-server is missing: run `cargo xtask tools` first" }
}

#[cfg(test)]
mod tests {
    use super::Redis;

    #[test]
    fn databases_of_the_shared_server_are_apart() {
        let (one, other) = (Redis::shared(), Redis::shared());
        one.command(&["SET", "key", "value"]);
        assert_eq!(one.dump(), "key=value\n");
        assert_eq!(other.dump(), "");
    }

    #[test]
    fn a_server_of_ones_own_can_be_stopped_and_started() {
        let redis = Redis::private();
        redis.command(&["SET", "key", "value"]);
        redis.stop();
        assert_eq!(redis.command(&["GET", "key"]), "");
        redis.start();
        assert_eq!(redis.command(&["EXISTS", "key"]).trim(), "0");
    }
}
