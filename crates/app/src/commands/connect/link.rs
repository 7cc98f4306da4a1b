//! Links that install a server with a click.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::clients::Link;
use crate::print::percent_encoded;

pub(crate) fn of(link: Link, name: &str, entry: &Value) -> String {
    match link {
        Link::VsCode(scheme) => {
            let mut server = Map::new();
            server.insert("name".to_owned(), json!(name));
            server.extend(entry.as_object().cloned().unwrap_or_default());
            format!(
                "{scheme}:mcp/install?{}",
                percent_encoded(Value::Object(server).to_string().as_bytes(), b"")
            )
        }
        Link::Cursor => {
            let config = STANDARD.encode(entry.to_string());
            let encoded = percent_encoded(config.as_bytes(), b"");
            format!("cursor://anysphere.cursor-deeplink/mcp/install?name={name}&config={encoded}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_carry_the_whole_entry() {
        let entry = json!({ "command": "/bin/dir2mcp", "args": ["stdio"] });
        assert_eq!(
            of(Link::VsCode("vscode"), "dir2mcp-a", &entry),
            "vscode:mcp/install?%7B%22name%22%3A%22dir2mcp-a%22%2C%22command%22%3A%22%2Fbin%2Fdir2mcp%22%2C%22args%22\
             %3A%5B%22stdio%22%5D%7D"
        );
        assert_eq!(
            of(Link::Cursor, "dir2mcp-a", &entry),
            "cursor://anysphere.cursor-deeplink/mcp/install?name=dir2mcp-a&config=\
             eyJjb21tYW5kIjoiL2Jpbi9kaXIybWNwIiwiYXJncyI6WyJzdGRpbyJdfQ%3D%3D"
        );
    }
}
