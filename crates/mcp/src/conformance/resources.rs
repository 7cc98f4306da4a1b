//! Resources: a text, an image, a watched one, and a template.

use rmcp::model::*;
use serde_json::json;

use super::content::PNG;

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";

pub(super) fn list() -> Vec<Resource> {
    [
        (TEXT, "Static text", "text/plain"),
        (BINARY, "Static image", "image/png"),
        (WATCHED, "Watched text", "text/plain"),
    ]
    .map(|(uri, name, mime)| Resource::new(uri, name).with_description(name).with_mime_type(mime))
    .to_vec()
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = ResourceTemplate::new("test://template/{id}/data", "Template");
    vec![template.with_description("Data by id").with_mime_type("application/json")]
}

pub(super) fn read(uri: &str) -> Option<ResourceContents> {
    let text = |text: &str| ResourceContents::text(text, uri).with_mime_type("text/plain");
    match uri {
        TEXT => Some(text("This is the content of the static text resource.")),
        WATCHED => Some(text("This is the content of the watched resource.")),
        BINARY => Some(ResourceContents::blob(PNG, uri).with_mime_type("image/png")),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            Some(ResourceContents::text(data.to_string(), uri).with_mime_type("application/json"))
        }
    }
}
