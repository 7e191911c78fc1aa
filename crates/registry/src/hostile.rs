//! Whatever comes from outside is read or refused, and never ends the program.

use proptest::prelude::*;
use reqwest::header::{HeaderMap, HeaderValue, WWW_AUTHENTICATE};

use crate::oci::{Challenge, Reference};
use crate::pull::unpack;
use crate::repo::address;
use crate::repo::index::Index;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn indexes(text in "(apiVersion: v1\n)?(entries:\n)?( {0,4}[-a-z\"{\\[&*!|:,.0-9]{0,12}\n){0,8}") {
        let _ = Index::parse(text.as_bytes(), "src");
    }

    #[test]
    fn entries_of_indexes(
        name in "[a-z./]{0,5}",
        version in "[0-9v.+*x<>=~^|-]{0,12}",
        wanted in "[0-9v.+*x<>=~^| ,-]{0,12}",
    ) {
        let text = serde_json::json!({
            "apiVersion": "v1",
            "entries": {"web": [{"name": name, "version": version, "urls": ["a"]}]},
        });
        let (index, _) = Index::parse(text.to_string().as_bytes(), "src").unwrap();
        let _ = index.pick("web", &wanted);
    }

    #[test]
    fn references(text in "(oci://)?[a-zA-Z0-9.:/@+_\\[\\]% -]{0,40}") {
        if let Ok(found) = Reference::parse(&text) {
            let again = format!("{}/{}:1", found.registry, found.repository);
            prop_assert!(Reference::parse(&again).is_ok());
            prop_assert!(!found.repository.contains(".."));
        }
    }

    #[test]
    fn challenges(text in "((Bearer|Basic) )?[ -~]{0,60}") {
        let mut headers = HeaderMap::new();
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_str(&text).unwrap());
        let _ = Challenge::of(&headers);
    }

    #[test]
    fn addresses(base in "(https?://)?[ -~]{0,20}", reference in "[ -~]{0,20}") {
        let _ = address::resolve(&base, &reference);
        let _ = address::resolve_path(&base, &reference);
        let _ = address::same(&base, &reference);
        let _ = address::without_secret(&base);
    }

    #[test]
    fn archives(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let folder = tempfile::tempdir().unwrap();
        let mut archive = b"\x1f\x8b\x08".to_vec();
        archive.extend(bytes);
        let _ = unpack(&archive, folder.path());
        prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
