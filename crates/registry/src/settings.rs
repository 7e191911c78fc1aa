//! Where Helm, Docker and kzero keep their files, told by the environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use reqwest::{ClientBuilder, NoProxy, Proxy};

/// The files and proxies that finding charts goes by. All paths are absolute, if the directory is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// `repositories.yaml`: names of repositories with their addresses and credentials. Only read.
    pub repository_config: PathBuf,
    /// The folder of the indexes that Helm has fetched for them. Only read.
    pub repository_cache: PathBuf,
    /// Helm's own credentials for registries, in Docker's form. Only read.
    pub registry_config: PathBuf,
    /// Docker's `config.json`, which is asked next; none without a home. Only read.
    pub docker_config: Option<PathBuf>,
    /// kzero's folder of fetched charts by their digests; none without a home.
    pub content_cache: Option<PathBuf>,
    /// Where `docker-credential-*` programs are looked up.
    pub program_path: Option<OsString>,
    /// The process directory, which relative paths of charts start at.
    pub directory: PathBuf,
    /// Which proxies there are.
    pub proxies: Proxies,
}

/// The proxy variables, in capital or small letters.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For `http` addresses.
    pub http: Option<String>,
    /// For `https` addresses.
    pub https: Option<String>,
    /// Hosts that are reached without one, as `NO_PROXY` lists them.
    pub none_for: Option<String>,
}

impl std::fmt::Debug for Proxies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Addresses of proxies may hold passwords.
        f.debug_struct("Proxies")
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("none_for", &self.none_for)
            .finish()
    }
}

impl Proxies {
    /// Reads the variables. `env` gives a variable as it is.
    #[must_use]
    pub fn from_env(env: impl Fn(&str) -> Option<OsString>) -> Self {
        let filled = |name: &str| env(name).filter(|value| !value.is_empty());
        let text = |capital: &str, small: &str| {
            let value = filled(capital).or_else(|| filled(small))?;
            value.into_string().ok()
        };
        Self {
            http: text("HTTP_PROXY", "http_proxy"),
            https: text("HTTPS_PROXY", "https_proxy"),
            none_for: text("NO_PROXY", "no_proxy"),
        }
    }

    /// Lets a client go through them, and through no others.
    ///
    /// # Errors
    ///
    /// An address that is none.
    pub fn apply(&self, builder: ClientBuilder) -> Result<ClientBuilder, String> {
        // The environment is told, not looked at.
        let mut builder = builder.no_proxy();
        // Go never goes through a proxy to this machine itself.
        let direct = format!(
            "localhost,127.0.0.0/8,::1,{}",
            self.none_for.as_deref().unwrap_or_default()
        );
        let http = self.http.as_deref().map(Proxy::http);
        let https = self.https.as_deref().map(Proxy::https);
        for proxy in [http, https].into_iter().flatten() {
            let proxy = proxy.map_err(|_| "the address of the proxy is not valid".to_owned())?;
            builder = builder.proxy(proxy.no_proxy(NoProxy::from_string(&direct)));
        }
        Ok(builder)
    }
}

impl Settings {
    /// Reads Helm's variables, with the defaults that Helm has on Linux. `env` gives a variable as it is.
    #[must_use]
    pub fn from_env(env: impl Fn(&str) -> Option<OsString>, directory: &Path) -> Self {
        let filled = |name: &str| env(name).filter(|value| !value.is_empty());
        let home = filled("HOME").map(PathBuf::from);
        // Helm's own variable is the folder itself; below the folders of XDG there is one more.
        let base = |helm: &str, xdg: &str, default: &str| match filled(helm) {
            Some(path) => PathBuf::from(path),
            None => xdg_folder(filled(xdg), home.as_deref(), default).join("helm"),
        };
        let config = base("HELM_CONFIG_HOME", "XDG_CONFIG_HOME", ".config");
        let cache = base("HELM_CACHE_HOME", "XDG_CACHE_HOME", ".cache");
        // These count when they are empty too, as in Helm: then there is no such file.
        let own = |name: &str, default: PathBuf| env(name).map_or(default, PathBuf::from);
        let absolute = |path: PathBuf| match path.as_os_str().is_empty() {
            true => path,
            false => directory.join(path),
        };
        let docker = filled("DOCKER_CONFIG")
            .map(PathBuf::from)
            .or_else(|| home.as_ref().map(|home| home.join(".docker")));
        let kzero_cache = filled("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| home.as_ref().map(|home| home.join(".cache")));
        Self {
            repository_config: absolute(own(
                "HELM_REPOSITORY_CONFIG",
                config.join("repositories.yaml"),
            )),
            repository_cache: absolute(own("HELM_REPOSITORY_CACHE", cache.join("repository"))),
            registry_config: absolute(
                filled("HELM_REGISTRY_CONFIG")
                    .map_or_else(|| config.join("registry/config.json"), PathBuf::from),
            ),
            docker_config: docker.map(|folder| absolute(folder.join("config.json"))),
            content_cache: kzero_cache.map(|folder| absolute(folder.join("kzero/charts"))),
            program_path: filled("PATH"),
            directory: directory.to_owned(),
            proxies: Proxies::from_env(&env),
        }
    }
}

fn xdg_folder(set: Option<OsString>, home: Option<&Path>, default: &str) -> PathBuf {
    match set {
        Some(folder) => PathBuf::from(folder),
        None => home.unwrap_or_else(|| Path::new("")).join(default),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        let env = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name)?;
            Some(OsString::from(found.1))
        };
        Settings::from_env(env, Path::new("/work"))
    }

    #[test]
    fn defaults_are_under_the_home() {
        let found = settings(&[("HOME", "/home/me"), ("PATH", "/bin")]);
        assert_eq!(
            found.repository_config,
            Path::new("/home/me/.config/helm/repositories.yaml")
        );
        assert_eq!(
            found.repository_cache,
            Path::new("/home/me/.cache/helm/repository")
        );
        assert_eq!(
            found.registry_config,
            Path::new("/home/me/.config/helm/registry/config.json")
        );
        assert_eq!(
            found.docker_config.as_deref(),
            Some(Path::new("/home/me/.docker/config.json"))
        );
        assert_eq!(
            found.content_cache.as_deref(),
            Some(Path::new("/home/me/.cache/kzero/charts"))
        );
    }

    #[test]
    fn xdg_folders_hold_a_folder_of_helm_and_helms_own_do_not() {
        let found = settings(&[
            ("HOME", "/home/me"),
            ("XDG_CONFIG_HOME", "/xdg/config"),
            ("XDG_CACHE_HOME", "/xdg/cache"),
            ("HELM_CACHE_HOME", "/helm/cache"),
        ]);
        assert_eq!(
            found.repository_config,
            Path::new("/xdg/config/helm/repositories.yaml")
        );
        assert_eq!(found.repository_cache, Path::new("/helm/cache/repository"));
        assert_eq!(
            found.content_cache.as_deref(),
            Some(Path::new("/xdg/cache/kzero/charts"))
        );
    }

    #[test]
    fn single_files_win_and_are_relative_to_the_process_directory() {
        let found = settings(&[
            ("HELM_CONFIG_HOME", "/helm/config"),
            ("HELM_REPOSITORY_CONFIG", "repos.yaml"),
            ("HELM_REPOSITORY_CACHE", "cache"),
            ("HELM_REGISTRY_CONFIG", "/r/config.json"),
            ("DOCKER_CONFIG", "docker"),
        ]);
        assert_eq!(found.repository_config, Path::new("/work/repos.yaml"));
        assert_eq!(found.repository_cache, Path::new("/work/cache"));
        assert_eq!(found.registry_config, Path::new("/r/config.json"));
        assert_eq!(
            found.docker_config.as_deref(),
            Some(Path::new("/work/docker/config.json"))
        );
        assert_eq!(found.content_cache, None);
    }

    #[test]
    fn an_empty_variable_of_repositories_is_no_file() {
        let found = settings(&[
            ("HOME", "/h"),
            ("HELM_REPOSITORY_CONFIG", ""),
            ("HELM_REGISTRY_CONFIG", ""),
        ]);
        assert_eq!(found.repository_config, Path::new(""));
        assert_eq!(
            found.registry_config,
            Path::new("/h/.config/helm/registry/config.json")
        );
    }

    #[test]
    fn passwords_of_proxies_are_not_shown() {
        let found = settings(&[
            ("https_proxy", "http://me:hidden@proxy:1"),
            ("NO_PROXY", "a.example"),
        ]);
        assert_eq!(
            found.proxies.https.as_deref(),
            Some("http://me:hidden@proxy:1")
        );
        let shown = format!("{found:?}");
        assert!(
            !shown.contains("hidden") && shown.contains("a.example"),
            "{shown}"
        );
    }
}
