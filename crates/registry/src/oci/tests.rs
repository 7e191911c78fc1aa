//! Choosing among tags; requests are tested against servers.

use super::*;

fn tags(list: &[&str]) -> Vec<String> {
    list.iter().map(|tag| (*tag).to_owned()).collect()
}

#[test]
fn the_newest_release_is_chosen_unless_something_else_is_asked_for() {
    let all = tags(&["2.0.0-rc.1", "1.3.0+b1", "1.2.9", "1.2.0"]);
    let picked = |version| pick(&all, version).map_err(|error| error.to_string());
    assert_eq!(picked("").unwrap(), "1.3.0+b1");
    assert_eq!(picked(">0.0.0-0").unwrap(), "2.0.0-rc.1");
    assert_eq!(picked("~1.2").unwrap(), "1.2.9");
    assert_eq!(picked("1.2.0").unwrap(), "1.2.0");
    assert_eq!(
        picked(">5").unwrap_err(),
        "Could not locate a version matching provided version string >5"
    );
    assert_eq!(
        picked("latest").unwrap_err(),
        "improper constraint: \"latest\""
    );
}

#[test]
fn only_full_versions_are_tags_of_charts() {
    for tag in ["1.2.3", "1.2.3-rc.1", "1.2.3+b", "0.0.1-a.b+c.d"] {
        assert_eq!(
            strict(tag).map(|version| canonical(&version)).as_deref(),
            Some(tag)
        );
    }
    for tag in ["v1.2.3", "1.2", "1", "latest", "1.2.3.4", "", "01.2.3"] {
        assert_eq!(strict(tag), None, "{tag}");
    }
}

fn page(link: &str) -> Result<Option<String>, String> {
    let mut headers = reqwest::header::HeaderMap::new();
    if !link.is_empty() {
        headers.insert(LINK, link.parse().unwrap());
    }
    let answer = Answer {
        status: reqwest::StatusCode::OK,
        headers,
        url: reqwest::Url::parse("https://h.example/v2/a/b/tags/list?n=2").unwrap(),
        body: bytes::Bytes::new(),
    };
    let reference = Reference::parse("h.example/a/b").unwrap();
    next_page(&answer, &reference).map_err(|error| error.to_string())
}

#[test]
fn pages_of_tags_are_followed_on_the_same_registry_alone() {
    assert_eq!(page("").unwrap(), None);
    assert_eq!(
        page("</v2/a/b/tags/list?last=x>; rel=\"prev\"").unwrap(),
        None
    );
    let next = Some("tags/list?last=x&n=2".to_owned());
    assert_eq!(
        page("</v2/a/b/tags/list?last=x&n=2>; rel=\"next\"").unwrap(),
        next
    );
    assert_eq!(
        page("<https://h.example/v2/a/b/tags/list?last=x&n=2>; rel=next").unwrap(),
        next
    );
    for odd in [
        "<https://evil.example/v2/a/b/tags/list?last=x>; rel=\"next\"",
        "<http://h.example/v2/a/b/tags/list?last=x>; rel=\"next\"",
        "</v2/other/tags/list>; rel=\"next\"",
        "rel=\"next\"",
    ] {
        assert!(page(odd).is_err(), "{odd}");
    }
}
