//! Connection strings, as Helm's own PostgreSQL driver reads them.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use super::SqlError;

/// How soon a connection that nothing is heard of is looked after, and given up: between two writes of a release there
/// may be many minutes.
const QUIET: Duration = Duration::from_secs(60);
const LOST: Duration = Duration::from_secs(30);
/// The most that is read of a file with certificates or a key.
const MAX_FILE: u64 = 1 << 20;

/// Variables that stand for settings which the connection string does not make.
const VARIABLES: [(&str, &str); 12] = [
    ("PGHOST", "host"),
    ("PGPORT", "port"),
    ("PGUSER", "user"),
    ("PGPASSWORD", "password"),
    ("PGDATABASE", "dbname"),
    ("PGAPPNAME", "application_name"),
    ("PGOPTIONS", "options"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
];

/// Settings that Helm's driver knows and that would change what a connection means, but that are not served here.
const REFUSED: [&str; 9] = [
    "krbspn",
    "krbsrvname",
    "load_balance_hosts",
    "passfile",
    "service",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslnegotiation",
    "target_session_attrs",
];

/// Settings that change nothing here.
const WITHOUT_EFFECT: [&str; 6] = [
    "binary_parameters",
    "client_encoding",
    "datestyle",
    "disable_prepared_binary_result",
    "fallback_application_name",
    "sslsni",
];

/// How a database is reached. Its debug form has no password.
#[derive(Clone)]
pub struct SqlSettings {
    config: Config,
    check: Option<Check>,
    identity: Option<Identity>,
}

/// What is shown to the database, as PEM.
#[derive(Clone)]
pub(super) struct Identity {
    pub(super) certificates: Vec<u8>,
    pub(super) key: Vec<u8>,
}

/// What of a database's certificate is looked at.
#[derive(Clone, Debug)]
pub(super) enum Check {
    /// Nothing: the connection is encrypted, with whomever.
    Nothing,
    /// Who signed it.
    Chain(Roots),
    /// Who signed it and for which host.
    ChainAndName(Roots),
}

/// Whose signatures count.
#[derive(Clone, Debug)]
pub(super) enum Roots {
    /// Those that the machine trusts.
    System,
    /// Those of a text of certificates.
    Given(Vec<u8>),
}

impl fmt::Debug for SqlSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The configuration hides its password itself.
        f.debug_struct("SqlSettings")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

type Settings = BTreeMap<String, String>;

impl SqlSettings {
    /// Reads a connection string: a `postgres://` address or `key=value` pairs. What it does not say is taken from the
    /// variables that PostgreSQL's own clients read (`PGHOST`, `PGPASSWORD`, …) through `variable`, then from the
    /// defaults: `localhost`, port 5432, `sslmode=require`. Files of certificates are read now.
    ///
    /// # Errors
    ///
    /// A string that does not read, settings that are not served, files that cannot be read. Values are not in the
    /// message.
    pub fn parse(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, SqlError> {
        let mut settings = Settings::new();
        for (name, key) in VARIABLES {
            if let Some(value) = variable(name).filter(|value| !value.is_empty()) {
                settings.insert(key.to_owned(), value);
            }
        }
        let address = text
            .strip_prefix("postgres://")
            .or_else(|| text.strip_prefix("postgresql://"));
        match address {
            Some(address) => read_address(address, &mut settings)?,
            None => read_pairs(text, &mut settings)?,
        }
        if let Some(key) = settings.keys().find(|key| REFUSED.contains(&key.as_str())) {
            return Err(SqlError::new(format!(
                "the connection string's {key} is not supported"
            )));
        }
        let home = variable("HOME").map(|home| format!("{home}/.postgresql"));
        Self::of(settings, home.as_deref())
    }

    fn of(mut settings: Settings, home: Option<&str>) -> Result<Self, SqlError> {
        let mut config = Config::new();
        config
            .keepalives_idle(QUIET)
            .keepalives_interval(LOST / 3)
            .tcp_user_timeout(LOST);
        let address = settings.remove("hostaddr");
        let host = settings.remove("host").or(address);
        let host = host.unwrap_or_else(|| "localhost".to_owned());
        for one in host.split(',') {
            config.host(one);
        }
        let port = settings.remove("port").unwrap_or_else(|| "5432".to_owned());
        for one in port.split(',') {
            config.port(number(one, "port")?);
        }
        let Some(user) = settings.remove("user") else {
            return Err(SqlError::new("the connection string names no user"));
        };
        config.dbname(settings.remove("dbname").unwrap_or_else(|| user.clone()));
        config.user(user);
        if let Some(password) = settings.remove("password") {
            config.password(password);
        }
        if let Some(seconds) = settings.remove("connect_timeout") {
            let seconds: u64 = number(&seconds, "connect_timeout")?;
            if seconds > 0 {
                config.connect_timeout(Duration::from_secs(seconds));
            }
        }
        let name = settings.remove("application_name");
        config.application_name(name.unwrap_or_else(|| "kzero".to_owned()));
        let check = check(&mut settings, &host, home)?;
        let identity = identity(&mut settings, check.is_some(), home)?;
        config.ssl_mode(match (&check, settings.remove("sslmode").as_deref()) {
            (None, _) => SslMode::Disable,
            (Some(_), Some("prefer")) => SslMode::Prefer,
            (Some(_), _) => SslMode::Require,
        });
        let options = options(settings)?;
        if !options.is_empty() {
            config.options(options);
        }
        Ok(Self {
            config,
            check,
            identity,
        })
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// What is looked at; none where the connection is plain.
    pub(super) fn check(&self) -> Option<&Check> {
        self.check.as_ref()
    }

    /// What is shown to the database, if anything.
    pub(super) fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }
}

fn number<N: std::str::FromStr>(text: &str, what: &str) -> Result<N, SqlError> {
    text.trim()
        .parse()
        .map_err(|_| SqlError::new(format!("the connection string's {what} is no number")))
}

fn unreadable(what: &str) -> SqlError {
    SqlError::new(format!("the connection string does not read: {what}"))
}

/// Reads what is behind `postgres://`: `user:password@host:port,host:port/name?key=value&…`.
fn read_address(address: &str, settings: &mut Settings) -> Result<(), SqlError> {
    let decoded = |text: &str| {
        let decoded = percent_decode_str(text).decode_utf8();
        decoded
            .map(std::borrow::Cow::into_owned)
            .map_err(|_| unreadable("its percent signs make no text"))
    };
    let mut set = |key: &str, value: &str| -> Result<(), SqlError> {
        if !value.is_empty() {
            settings.insert(key.to_owned(), decoded(value)?);
        }
        Ok(())
    };
    let (place, query) = address.split_once('?').unwrap_or((address, ""));
    let (authority, name) = place.split_once('/').unwrap_or((place, ""));
    let (who, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = who.split_once(':').unwrap_or((who, ""));
    set("user", user)?;
    set("password", password)?;
    set("dbname", name)?;
    let mut names = Vec::new();
    let mut ports = Vec::new();
    for host in hosts.split(',').filter(|host| !host.is_empty()) {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, port),
            _ => (host, ""),
        };
        names.push(name.trim_start_matches('[').trim_end_matches(']'));
        ports.push(if port.is_empty() { "5432" } else { port });
    }
    set("host", &names.join(","))?;
    if ports.iter().any(|port| *port != "5432") {
        set("port", &ports.join(","))?;
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        set(&decoded(key)?, &value.replace('+', " "))?;
    }
    Ok(())
}

/// Reads `key=value key = 'a value'`, with backslashes before quotes and backslashes.
fn read_pairs(text: &str, settings: &mut Settings) -> Result<(), SqlError> {
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (key, behind) = rest
            .split_once('=')
            .ok_or_else(|| unreadable("a setting has no ="))?;
        let key = key.trim_end();
        if key.is_empty() || key.contains(char::is_whitespace) {
            return Err(unreadable("a setting has no ="));
        }
        let (value, left) = read_value(behind.trim_start())?;
        settings.insert(key.to_owned(), value);
        rest = left.trim_start();
    }
    Ok(())
}

/// A value, and what is behind it.
fn read_value(text: &str) -> Result<(String, &str), SqlError> {
    let (inner, quoted) = match text.strip_prefix('\'') {
        Some(inner) => (inner, true),
        None => (text, false),
    };
    let mut value = String::new();
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, escaped)) => value.push(escaped),
                None => return Err(unreadable("it ends in a backslash")),
            },
            '\'' if quoted => return Ok((value, chars.as_str())),
            c if !quoted && c.is_whitespace() => {
                return Ok((value, inner.get(at..).unwrap_or_default()));
            }
            c => value.push(c),
        }
    }
    if quoted {
        return Err(unreadable("a quote is not closed"));
    }
    Ok((value, ""))
}

/// What `sslmode` and `sslrootcert` mean together; none for a plain connection.
fn check(
    settings: &mut Settings,
    host: &str,
    home: Option<&str>,
) -> Result<Option<Check>, SqlError> {
    let inline = settings
        .get("sslinline")
        .is_some_and(|value| is_true(value));
    let given = settings.remove("sslrootcert");
    let mode = settings.get("sslmode").map(String::as_str);
    let is_system = !inline && given.as_deref() == Some("system");
    let mode = match mode {
        None if is_system => "verify-full",
        None => "require",
        Some(mode) => mode,
    };
    // A socket of this machine is never encrypted.
    if host.starts_with('/') || matches!(mode, "disable" | "allow") {
        return Ok(None);
    }
    if is_system && mode != "verify-full" {
        return Err(SqlError::new(format!(
            "weak sslmode {mode:?} may not be used with sslrootcert=system (use \"verify-full\")"
        )));
    }
    let must_be = matches!(mode, "verify-ca" | "verify-full");
    let roots = match given {
        Some(text) if inline => Some(Roots::Given(text.into_bytes())),
        Some(path) if must_be && !is_system => Some(Roots::Given(file(&path, "sslrootcert")?)),
        // Weak modes look at the certificate where there is something to look with.
        Some(path) if !is_system && Path::new(&path).exists() => {
            Some(Roots::Given(file(&path, "sslrootcert")?))
        }
        Some(_) => None,
        None => of_home(home, "root.crt")?.map(Roots::Given),
    };
    match (mode, roots) {
        ("prefer" | "require", None) => Ok(Some(Check::Nothing)),
        ("prefer" | "require", Some(roots)) => Ok(Some(Check::Chain(roots))),
        ("verify-ca", roots) => Ok(Some(Check::Chain(roots.unwrap_or(Roots::System)))),
        ("verify-full", roots) => Ok(Some(Check::ChainAndName(roots.unwrap_or(Roots::System)))),
        _ => Err(SqlError::new(
            "the connection string's sslmode is none of disable, allow, prefer, require, verify-ca, verify-full",
        )),
    }
}

/// The certificates and the key that are shown to the database.
fn identity(
    settings: &mut Settings,
    is_encrypted: bool,
    home: Option<&str>,
) -> Result<Option<Identity>, SqlError> {
    let inline = settings
        .remove("sslinline")
        .is_some_and(|value| is_true(&value));
    let (certificate, key) = (settings.remove("sslcert"), settings.remove("sslkey"));
    if !is_encrypted {
        return Ok(None);
    }
    if inline {
        let both = certificate.zip(key);
        return Ok(both.map(|(certificate, key)| Identity {
            certificates: certificate.into_bytes(),
            key: key.into_bytes(),
        }));
    }
    let certificates = match certificate {
        Some(path) if Path::new(&path).exists() => Some(file(&path, "sslcert")?),
        Some(_) => None,
        None => of_home(home, "postgresql.crt")?,
    };
    let Some(certificates) = certificates else {
        return Ok(None);
    };
    let key = match key {
        Some(path) => Some(file(&path, "sslkey")?),
        None => of_home(home, "postgresql.key")?,
    };
    match key {
        Some(key) => Ok(Some(Identity { certificates, key })),
        None => Err(SqlError::new("sslcert is given without sslkey")),
    }
}

fn is_true(value: &str) -> bool {
    matches!(value, "1" | "true" | "t" | "yes" | "on")
}

/// A file of the user's folder for PostgreSQL, if it is there.
fn of_home(home: Option<&str>, name: &str) -> Result<Option<Vec<u8>>, SqlError> {
    match home.map(|home| format!("{home}/{name}")) {
        Some(path) if Path::new(&path).exists() => file(&path, name).map(Some),
        _ => Ok(None),
    }
}

fn file(path: &str, what: &str) -> Result<Vec<u8>, SqlError> {
    let read = || {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path)?;
        file.take(MAX_FILE).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|error: std::io::Error| SqlError::new(format!("{what} cannot be read: {error}")))
}

/// All other settings are those of the session.
fn options(mut settings: Settings) -> Result<String, SqlError> {
    let mut options = settings.remove("options").unwrap_or_default();
    for (key, value) in settings {
        if WITHOUT_EFFECT.contains(&key.as_str()) {
            continue;
        }
        let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        if !key.chars().all(named) {
            return Err(unreadable("the name of a setting is none"));
        }
        let key = if key == "tz" { "TimeZone" } else { &key };
        let escaped: String = value
            .chars()
            .flat_map(|c| {
                let escape = matches!(c, '\\' | ' ').then_some('\\');
                escape.into_iter().chain([c])
            })
            .collect();
        options.push_str(&format!(" -c {key}={escaped}"));
    }
    Ok(options.trim_start().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Check, SqlSettings};
    use tokio_postgres::config::{Host, SslMode};

    fn parse(text: &str) -> SqlSettings {
        SqlSettings::parse(text, |_| None).unwrap()
    }

    fn error(text: &str) -> String {
        SqlSettings::parse(text, |_| None).unwrap_err().to_string()
    }

    /// User, password, database, hosts with ports, options.
    fn parts(settings: &SqlSettings) -> String {
        let config = settings.config();
        let hosts: Vec<String> = config
            .get_hosts()
            .iter()
            .map(|host| match host {
                Host::Tcp(name) => name.clone(),
                Host::Unix(path) => path.display().to_string(),
            })
            .collect();
        format!(
            "{} {} {} {} {:?} {}",
            config.get_user().unwrap_or("-"),
            String::from_utf8_lossy(config.get_password().unwrap_or(b"-")),
            config.get_dbname().unwrap_or("-"),
            hosts.join(","),
            config.get_ports(),
            config.get_options().unwrap_or("-"),
        )
    }

    #[test]
    fn addresses_and_pairs_say_the_same() {
        for (text, expected) in [
            ("postgres://me@db", "me - me db [5432] -"),
            (
                "postgresql://me:p%40s%2F@db:6000/helm",
                "me p@s/ helm db [6000] -",
            ),
            (
                "user=me password='p@s/' host=db port=6000 dbname=helm",
                "me p@s/ helm db [6000] -",
            ),
            (
                "  user = me   password = 'it\\'s \\\\' ",
                "me it's \\ me localhost [5432] -",
            ),
            ("postgres://me@a:1,b,c:3/d", "me - d a,b,c [1, 5432, 3] -"),
            ("postgres://me@[::1]:7/d", "me - d ::1 [7] -"),
            ("postgres://me@[::1]/d", "me - d ::1 [5432] -"),
            (
                "user=me host=/var/run/postgresql",
                "me - me /var/run/postgresql [5432] -",
            ),
            (
                "postgres:///d?user=me&host=db&search_path=a+b",
                "me - d db [5432] -c search_path=a\\ b",
            ),
            (
                "user=me tz=UTC options='-c x=1' binary_parameters=yes",
                "me - me localhost [5432] -c x=1 -c TimeZone=UTC",
            ),
        ] {
            assert_eq!(parts(&parse(text)), expected, "{text}");
        }
    }

    #[test]
    fn variables_stand_in_for_what_is_not_said() {
        let variable = |name: &str| match name {
            "PGUSER" => Some("env".to_owned()),
            "PGPASSWORD" => Some("secret".to_owned()),
            "PGHOST" => Some("there".to_owned()),
            _ => None,
        };
        let settings = SqlSettings::parse("host=here", variable).unwrap();
        assert_eq!(parts(&settings), "env secret env here [5432] -");
        assert!(!format!("{settings:?}").contains("secret"));
    }

    #[test]
    fn connections_are_encrypted_unless_told_otherwise() {
        let mode = |text: &str| {
            let settings = parse(&format!("user=me {text}"));
            let check = match settings.check() {
                None => "plain",
                Some(Check::Nothing) => "nothing",
                Some(Check::Chain(_)) => "chain",
                Some(Check::ChainAndName(_)) => "name",
            };
            (check, settings.config().get_ssl_mode())
        };
        assert_eq!(mode(""), ("nothing", SslMode::Require));
        assert_eq!(mode("sslmode=disable"), ("plain", SslMode::Disable));
        assert_eq!(mode("sslmode=allow"), ("plain", SslMode::Disable));
        assert_eq!(mode("sslmode=prefer"), ("nothing", SslMode::Prefer));
        assert_eq!(mode("sslmode=verify-ca"), ("chain", SslMode::Require));
        assert_eq!(mode("sslmode=verify-full"), ("name", SslMode::Require));
        assert_eq!(mode("sslrootcert=system"), ("name", SslMode::Require));
        assert_eq!(
            mode("sslinline=true sslrootcert=x"),
            ("chain", SslMode::Require)
        );
        assert_eq!(mode("host=/run"), ("plain", SslMode::Disable));
    }

    #[test]
    fn what_does_not_read_is_told_without_its_values() {
        for (text, expected) in [
            ("", "sql: the connection string names no user"),
            (
                "hunter2",
                "sql: the connection string does not read: a setting has no =",
            ),
            (
                "user=me hunter2 b=c",
                "sql: the connection string does not read: a setting has no =",
            ),
            (
                "user='hunter2",
                "sql: the connection string does not read: a quote is not closed",
            ),
            (
                "user=hunter2\\",
                "sql: the connection string does not read: it ends in a backslash",
            ),
            (
                "user=me port=hunter2",
                "sql: the connection string's port is no number",
            ),
            (
                "user=me sslmode=hunter2",
                "sql: the connection string's sslmode is none of disable, allow, prefer, require, verify-ca, verify-full",
            ),
            (
                "user=me passfile=hunter2",
                "sql: the connection string's passfile is not supported",
            ),
            (
                "postgres://me:%ff@db",
                "sql: the connection string does not read: its percent signs make no text",
            ),
            (
                "user=me a-b=hunter2",
                "sql: the connection string does not read: the name of a setting is none",
            ),
        ] {
            assert_eq!(error(text), expected);
        }
    }
}
