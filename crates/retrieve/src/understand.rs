//! stand-in
pub struct Understood {
    pub text: String,
    pub exts: Vec<String>,
    pub years: Vec<String>,
    pub notes: Vec<String>,
}
pub fn understand(query: &str, _this_year: i32) -> Understood {
    Understood { text: query.to_owned(), exts: vec![], years: vec![], notes: vec![] }
}
pub fn fts(u: &Understood) -> (String, String) {
    (u.text.clone(), String::new())
}
