//! What a server is called in a client's list: after its folder, so that servers of two folders can be told apart.

use std::path::Path;

use serde_json::Value;

/// Clients put the server's name in front of each tool's, and models take at most 64 characters of both.
const MAX_FOLDER: usize = 24;

/// The name for "whatever project is open".
pub(crate) const CURRENT_PROJECT: &str = "dir2mcp";

/// `dir2mcp-notes` for `/home/me/Notes`.
pub(crate) fn of_folder(root: &Path) -> String {
    let folder = root.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let mut slug = String::new();
    for c in folder.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c),
            // An underscore would be read as the end of the name by clients that join both with one.
            _ if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    let slug: String = slug.chars().take(MAX_FOLDER).collect();
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { with_digest("dir2mcp", root) } else { format!("dir2mcp-{slug}") }
}

/// The same for the second folder of this name: told apart by where it lies.
pub(crate) fn with_digest(name: &str, root: &Path) -> String {
    let digest = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    format!("{name}-{}", &digest[..4])
}

/// Whether an entry is one of ours and means this folder, or the server at this address.
pub(crate) fn means(entry: &Value, root: &Path, url: Option<&str>) -> bool {
    let root = root.to_string_lossy();
    let bare = |text: &str| text.split('?').next().unwrap_or_default().to_owned();
    holds(entry, &|text| text == root || url.is_some_and(|url| bare(text) == bare(url)))
}

/// Whether an entry starts this program for whatever folder is open.
pub(crate) fn means_open_folder(entry: &Value) -> bool {
    let program = |text: &str| text == "dir2mcp" || text.ends_with("/dir2mcp");
    let folder = |text: &str| text.starts_with('/') && !program(text);
    holds(entry, &program) && !holds(entry, &folder)
}

fn holds(value: &Value, wanted: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => wanted(text),
        Value::Array(items) => items.iter().any(|item| holds(item, wanted)),
        Value::Object(fields) => fields.values().any(|field| holds(field, wanted)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_fit_every_client() {
        let cases = [
            ("/home/me/notes", "dir2mcp-notes"),
            ("/home/me/My Notes_2026!", "dir2mcp-my-notes-2026"),
            ("/x/a-very-long-folder-name-that-never-ends", "dir2mcp-a-very-long-folder-name"),
        ];
        for (root, name) in cases {
            assert_eq!(of_folder(Path::new(root)), name);
        }
        for root in ["/", "/home/文書", "/x/notes"] {
            let name = with_digest(&of_folder(Path::new(root)), Path::new(root));
            let tool = format!("mcp__{name}__repo_build_context_bundle");
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
            assert!(name.chars().all(plain) && tool.len() <= 72, "{tool}");
        }
        assert_ne!(
            with_digest("dir2mcp-notes", Path::new("/a/notes")),
            with_digest("dir2mcp-notes", Path::new("/b/notes"))
        );
    }

    #[test]
    fn an_entry_is_known_by_its_folder_or_its_address() {
        let stdio = json!({ "command": "/bin/dir2mcp", "args": ["stdio", "--dir", "/a"] });
        assert!(means(&stdio, Path::new("/a"), None) && !means(&stdio, Path::new("/b"), None));
        assert!(!means_open_folder(&stdio));
        let http = json!({ "url": "http://127.0.0.1:8087/mcp?names=underscore" });
        assert!(means(&http, Path::new("/a"), Some("http://127.0.0.1:8087/mcp")));
        assert!(!means(&http, Path::new("/a"), Some("http://127.0.0.1:8088/mcp")));
        let open = json!({ "command": "/bin/dir2mcp", "args": ["stdio", "--dir", "${workspaceFolder}"] });
        assert!(means_open_folder(&open));
    }
}
