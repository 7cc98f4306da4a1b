//! How a stand-in misbehaves when a test wants it to.

/// What happens to the next request.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// This status, with the provider's own form of an error.
    Status(u16),
    /// 429 with this header, such as `("retry-after", "2")`.
    RateLimited(Option<(&'static str, String)>),
    /// Never answers. The test is told when the client gives up.
    Hang,
    /// Answers when the gate is opened.
    WaitAtGate,
    /// Ends the connection without an answer.
    Close,
    /// Ends the connection in the middle of the answer.
    CutOff,
    /// An answer that is JSON of another shape.
    WrongShape,
    /// An answer that is a page for people.
    NotJson,
    /// Vectors of this length.
    Dimensions(usize),
    /// Vectors, pages or results are one too few.
    OneTooFew,
    /// An answer of so many bytes.
    Huge(usize),
    /// 307 to this address.
    Redirect(String),
    /// 400 with this message; `{key}` stands for the key that the client sent.
    Refuse(String),
}
