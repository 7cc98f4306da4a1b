//! One request as a provider describes it. It can be sent several times.

use std::time::Duration;

use bytes::Bytes;
use model::ProviderErrorKind;
use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder};
use serde::Serialize;

/// Bytes of an answer.
const LARGEST_ANSWER: usize = 64 << 20;

#[derive(Debug, Clone)]
pub(crate) struct HttpCall {
    pub(super) method: Method,
    /// Below the base URL.
    pub(super) path: String,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) body: CallBody,
    /// For everything: waiting, sending and reading, repetitions included.
    pub(super) deadline: Duration,
    /// How often it is sent at most, where it is less than the policy says.
    pub(super) tries: Option<u32>,
    pub(super) largest_answer: usize,
}

#[derive(Debug, Clone)]
pub(super) enum CallBody {
    Empty,
    Json(Bytes),
    Form(Vec<FormField>),
}

/// A field of a form. The bytes of a file are shared, not copied, when it is sent again.
#[derive(Debug, Clone)]
pub(crate) struct FormField {
    pub(super) name: &'static str,
    pub(super) value: Bytes,
    /// Its file name and media type, for a file.
    pub(super) file: Option<(String, String)>,
}

/// What a streamed answer consists of.
#[derive(Debug)]
pub(crate) enum StreamItem {
    /// The data of one event.
    Event(String),
    /// The server did not stream: the whole answer.
    Whole(Bytes),
}

impl FormField {
    pub(crate) fn text(name: &'static str, value: impl Into<String>) -> FormField {
        FormField { name, value: Bytes::from(value.into()), file: None }
    }

    pub(crate) fn file(name: &'static str, value: Bytes, file_name: &str, media_type: &str) -> FormField {
        FormField { name, value, file: Some((file_name.to_owned(), media_type.to_owned())) }
    }
}

impl HttpCall {
    pub(crate) fn get(path: impl Into<String>) -> HttpCall {
        HttpCall::new(Method::GET, path.into(), CallBody::Empty)
    }

    pub(crate) fn json(path: impl Into<String>, body: &impl Serialize) -> HttpCall {
        let body = serde_json::to_vec(body).expect("requests are made of texts and finite numbers");
        HttpCall::new(Method::POST, path.into(), CallBody::Json(Bytes::from(body)))
    }

    pub(crate) fn form(path: impl Into<String>, fields: Vec<FormField>) -> HttpCall {
        HttpCall::new(Method::POST, path.into(), CallBody::Form(fields))
    }

    pub(crate) fn query(mut self, name: &'static str, value: impl Into<String>) -> HttpCall {
        self.query.push((name, value.into()));
        self
    }

    pub(crate) fn within(self, deadline: Duration) -> HttpCall {
        HttpCall { deadline, ..self }
    }

    pub(crate) fn at_most_tries(self, tries: u32) -> HttpCall {
        HttpCall { tries: Some(tries), ..self }
    }

    fn new(method: Method, path: String, body: CallBody) -> HttpCall {
        let deadline = Duration::from_secs(60);
        HttpCall {
            method,
            path,
            query: Vec::new(),
            body,
            deadline,
            tries: None,
            largest_answer: LARGEST_ANSWER,
        }
    }
}

impl CallBody {
    pub(super) fn put_into(&self, request: RequestBuilder) -> Result<RequestBuilder, ProviderErrorKind> {
        Ok(match self {
            CallBody::Empty => request,
            CallBody::Json(body) => {
                request.header(reqwest::header::CONTENT_TYPE, "application/json").body(body.clone())
            }
            CallBody::Form(fields) => {
                let mut form = Form::new();
                for field in fields {
                    let mut part = Part::stream(field.value.clone());
                    if let Some((name, media_type)) = &field.file {
                        part = part.file_name(name.clone()).mime_str(media_type).map_err(|_| {
                            ProviderErrorKind::Refused { reason: format!("{media_type:?} is no media type") }
                        })?;
                    }
                    form = form.part(field.name, part);
                }
                request.multipart(form)
            }
        })
    }
}
