//! Which store: the words of `HELM_DRIVER`.

use std::str::FromStr;

/// A kind of store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Driver {
    /// Secrets of the release's namespace.
    #[default]
    Secret,
    /// ConfigMaps of the release's namespace.
    ConfigMap,
    /// The memory of the process.
    Memory,
    /// A PostgreSQL database.
    Sql,
}

/// A word that names no store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("HELM_DRIVER: unknown driver {word:?}; choose one of secret, configmap, memory, sql")]
pub struct UnknownDriver {
    word: String,
}

impl FromStr for Driver {
    type Err = UnknownDriver;

    /// Reads a word as Helm does: an empty one is the default, the plural of Kubernetes' kinds is one as well.
    fn from_str(word: &str) -> Result<Self, UnknownDriver> {
        match word {
            "" | "secret" | "secrets" => Ok(Self::Secret),
            "configmap" | "configmaps" => Ok(Self::ConfigMap),
            "memory" => Ok(Self::Memory),
            "sql" => Ok(Self::Sql),
            _ => Err(UnknownDriver {
                word: word.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Driver;

    #[test]
    fn drivers_have_helms_words() {
        for (word, driver) in [
            ("", Driver::Secret),
            ("secret", Driver::Secret),
            ("secrets", Driver::Secret),
            ("configmap", Driver::ConfigMap),
            ("configmaps", Driver::ConfigMap),
            ("memory", Driver::Memory),
            ("sql", Driver::Sql),
        ] {
            assert_eq!(word.parse(), Ok(driver));
        }
        assert_eq!(
            "Secret".parse::<Driver>().unwrap_err().to_string(),
            "HELM_DRIVER: unknown driver \"Secret\"; choose one of secret, configmap, memory, sql"
        );
    }
}
