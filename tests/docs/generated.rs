//! Pages of which a part is written by a test. It owns where that part is; what stands there is the test's.

use std::path::Path;

/// The page has that text between its two marks. If not, the page as it must be is left in target/tmp.
#[track_caller]
pub(crate) fn generated(page: &str, part: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join(page)).unwrap();
    let (begin, end) =
        ("<!-- generated, see CONTRIBUTING.md -->\n", "<!-- end of what is generated -->\n");
    let (before, rest) = text.split_once(begin).expect("the page marks where it begins");
    let (_, after) = rest.split_once(end).expect("the page marks where it ends");
    let fresh = format!("{before}{begin}\n{part}\n{end}{after}");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(page.replace('/', "-"));
    std::fs::write(&path, &fresh).unwrap();
    assert!(
        text == fresh,
        "{page} is not what the code says; to take it over: cp {} {page}",
        path.display()
    );
}
