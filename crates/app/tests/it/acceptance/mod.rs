//! The product seen from outside: the built binary, what it prints, answers and leaves on disk. A test is named
//! after the contract line it holds (`d…`), or after the published attack it replays (`m…`).

mod accounting;
mod answers;
mod archives;
mod attacks;
mod belonging;
mod citations;
mod crash;
mod damage;
mod documents;
mod escapes;
mod faults;
mod first_contact;
mod fresh;
mod front;
mod hanging;
mod indexing;
mod labelled_questions;
mod load;
mod model_view;
mod ranking;
mod reading_child;
mod remote_embedder;
mod repo;
mod roundtrip;
mod secrets;
mod sessions;
mod smart;
mod start;
mod state;
mod survival;
mod tools;
mod way_out;
mod wire;

use testkit::{Client, Era, Folder, Program, Server};

const BINARY: &str = env!("CARGO_BIN_EXE_dir2mcp");

fn program(folder: &Folder) -> Program {
    Program::new(BINARY, folder)
}

/// A server that has indexed the folder.
fn serve(folder: &Folder) -> Server {
    let server = program(folder).serve(&[]);
    server.wait_indexed();
    server
}

/// Every way in: HTTP and stdio, both eras. The server is returned because it ends with its value.
fn ways_in(folder: &Folder) -> (Server, Vec<Box<dyn Client>>) {
    let server = serve(folder);
    let mut clients: Vec<Box<dyn Client>> = Vec::new();
    for era in [Era::Legacy, Era::Modern] {
        clients.push(Box::new(server.client(era)));
        let state = folder.outside().join(format!("stdio-{era:?}"));
        let mut stdio = program(folder).state_dir(&state).stdio(&[]).connect(era);
        stdio.wait_indexed();
        clients.push(Box::new(stdio));
    }
    (server, clients)
}
