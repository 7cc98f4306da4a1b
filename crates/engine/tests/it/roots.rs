//! A workspace of several roots: what is allowed, and a search over all of it.

use std::sync::Arc;

use engine::{
    Call, FurtherRoot, PreviewRequest, PreviewRules, ResultPage, Retrieval, SearchFilter, SearchRequest,
    Workspace,
};
use model::{ErrorCode, IndexChoice};
use testkit::Folder;

use crate::world::{StillClock, index, open};

fn workspace(one: &Folder, two: &Folder) -> Arc<Workspace> {
    let engines = [one, two].map(|folder| Arc::new(open(folder.path(), &folder.state())));
    engines.iter().for_each(|engine| index(engine));
    let [primary, second] = engines;
    let further = vec![
        FurtherRoot::Open { path: two.path().to_owned(), engine: second },
        FurtherRoot::Away { path: "/nowhere".into(), why: "it is not there".into() },
    ];
    Arc::new(Workspace::new(primary, further))
}

fn rules(workspace: &Workspace) -> PreviewRules {
    PreviewRules { bytes: 2048, redactor: Arc::clone(workspace.primary().unwrap().redactor()) }
}

fn request(text: &str, roots: Vec<String>) -> SearchRequest {
    SearchRequest {
        text: text.to_owned(),
        roots,
        scope: None,
        retrieval: Retrieval::Hybrid,
        index: IndexChoice::Both,
        filter: SearchFilter::default(),
        page: ResultPage { offset: 0, limit: 10 },
    }
}

#[tokio::test]
async fn a_search_looks_into_all_roots_or_the_named_ones() {
    let one = Folder::from("//- a.md\nThe lighthouse of the first folder.\n");
    let two = Folder::from("//- b.md\nThe lighthouse of the second folder.\n");
    let workspace = workspace(&one, &two);
    let call = Call::cli("searchFiles");
    let all = workspace.search_files(&call, request("lighthouse", vec![]), rules(&workspace)).await.unwrap();
    assert_eq!((all.total, all.is_complete), (2, true));
    let second = vec![two.path().to_string_lossy().into_owned()];
    let found =
        workspace.search_files(&call, request("lighthouse", second), rules(&workspace)).await.unwrap();
    assert_eq!(found.items.len(), 1);
    assert_eq!(found.items[0].path, two.path().join("b.md").to_string_lossy());
    let pointer = Some(found.items[0].pointer.clone());
    let preview = PreviewRequest { path: found.items[0].path.clone(), pointer, ..PreviewRequest::default() };
    let preview = workspace.preview(&call, preview, rules(&workspace)).await.unwrap();
    assert!(preview.text.contains("second folder"), "{}", preview.text);
}

#[tokio::test]
async fn paths_beside_the_roots_are_refused() {
    let (one, two) = (Folder::from("//- a.md\nx\n"), Folder::from("//- b.md\nx\n"));
    let workspace = workspace(&one, &two);
    let call = Call::cli("openFile");
    for (path, code) in [
        ("/etc/passwd".to_owned(), ErrorCode::Forbidden),
        (format!("{}-other/a.md", one.path().display()), ErrorCode::Forbidden),
        (format!("{}/../x", one.path().display()), ErrorCode::Forbidden),
        ("/nowhere/a.md".to_owned(), ErrorCode::FileNotFound),
    ] {
        let request = PreviewRequest { path: path.clone(), ..PreviewRequest::default() };
        let refused = workspace.preview(&call, request, rules(&workspace)).await.unwrap_err();
        assert_eq!(refused.code, code, "{path}");
    }
    assert_eq!(workspace.list_roots(&call).await.unwrap().len(), 3);
    assert_eq!(workspace.away().count(), 1);
}

#[tokio::test]
async fn years_are_those_of_the_injected_clock() {
    let workspace = Workspace::without_roots(Arc::new(StillClock));
    let understood = workspace.rewrite(&Call::cli("rewriteQuery"), "contracts from last year").await.unwrap();
    assert_eq!(understood.years, ["2025"]);
}
