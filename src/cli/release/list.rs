//! `release list`.

use clap::Args;
use jiff::tz::TimeZone;
use kzero_gotmpl::golang::Pattern;
use kzero_release::revision::{Revision, Status};
use kzero_release::show::{self, ListColumns};
use kzero_release::storage::{ALL_STATUSES, Order, Scope, Selection, Selector};

use super::flags::OutputFlag;
use super::session::{Place, Session, look, unreadable};

/// Bytes that a pattern may take.
const PATTERN: usize = 10 << 20;

/// `release list`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct ListArgs {
    #[command(flatten)]
    output: OutputFlag,
    /// Names only.
    #[arg(short = 'q', long)]
    short: bool,
    /// No names of columns.
    #[arg(long)]
    no_headers: bool,
    /// Layout of times, as Go has them: 2006-01-02 15:04:05Z0700.
    #[arg(long, value_name = "LAYOUT")]
    time_format: Option<String>,
    /// By time of deployment instead of name.
    #[arg(short, long)]
    date: bool,
    /// Backwards.
    #[arg(short, long)]
    reverse: bool,
    /// In all namespaces.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// How many at most; 0 for all.
    #[arg(short, long, value_name = "N", default_value_t = 256)]
    max: i64,
    /// How many are left out at the beginning.
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: i64,
    /// Only names in which this regular expression occurs.
    #[arg(short, long, value_name = "REGEX")]
    filter: Option<String>,
    /// Only records with these labels.
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<String>,
    #[command(flatten)]
    statuses: StatusFlags,
}

/// Which statuses are listed.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Statuses [default: deployed and failed]")]
struct StatusFlags {
    /// Releases of every status.
    #[arg(short, long)]
    all: bool,
    /// Deployed releases.
    #[arg(long)]
    deployed: bool,
    /// Failed releases.
    #[arg(long)]
    failed: bool,
    /// Releases that are worked on or were left behind.
    #[arg(long)]
    pending: bool,
    /// Superseded revisions.
    #[arg(long)]
    superseded: bool,
    /// Releases that were uninstalled with their history kept.
    #[arg(long)]
    uninstalled: bool,
    /// Releases that are being uninstalled.
    #[arg(long)]
    uninstalling: bool,
}

/// Lists releases.
pub(super) fn run(place: &Place<'_>, arguments: &ListArgs) -> Result<(), String> {
    let selection = arguments.selection()?;
    let revisions =
        place.enter(async |session| arguments.read(place, session, &selection).await)?;
    let format = arguments.output.output;
    let shown = if arguments.short {
        show::names(&revisions, format)
    } else {
        let columns = ListColumns {
            time_format: arguments
                .time_format
                .clone()
                .filter(|layout| !layout.is_empty()),
            zone: TimeZone::system(),
            headers: !arguments.no_headers,
        };
        show::list(&revisions, &columns, format)
    };
    let text = shown.map_err(|error| error.to_string())?;
    place.app.output.result(&text);
    Ok(())
}

impl ListArgs {
    fn selection(&self) -> Result<Selection, String> {
        let filter = self.filter.as_deref().filter(|text| !text.is_empty());
        let filter = filter.map(|text| Pattern::new(text, PATTERN)).transpose();
        let selector: Selector = self
            .selector
            .as_deref()
            .unwrap_or_default()
            .parse()
            .map_err(|error: kzero_release::storage::InvalidSelector| error.to_string())?;
        Ok(Selection {
            statuses: self.statuses.chosen(),
            filter: filter?,
            selector,
            order: match (self.date, self.reverse) {
                (false, false) => Order::Name,
                (false, true) => Order::NameBackwards,
                (true, false) => Order::Date,
                (true, true) => Order::DateBackwards,
            },
            offset: usize::try_from(self.offset).unwrap_or(0),
            limit: usize::try_from(self.max).unwrap_or(0),
        })
    }

    async fn read(
        &self,
        place: &Place<'_>,
        session: &Session<'_>,
        selection: &Selection,
    ) -> Result<Vec<Revision>, String> {
        let scope = if self.all_namespaces {
            Scope::Everywhere
        } else {
            Scope::Namespace
        };
        let listed = session.storage.list(scope, &look()).await;
        let (entries, faults) = listed.map_err(|error| unreadable(&error))?;
        for fault in faults {
            place.app.warn(&format!("WARNING: {fault}"));
        }
        let mut revisions = Vec::new();
        for entry in selection.choose(entries) {
            match session.storage.load(&entry, &look()).await {
                Ok(revision) => revisions.push(revision),
                // One broken record does not hide the others.
                Err(error) => place.app.warn(&format!("WARNING: {}", unreadable(&error))),
            }
        }
        Ok(selection.arrange(revisions))
    }
}

impl StatusFlags {
    fn chosen(&self) -> Vec<Status> {
        if self.all {
            return ALL_STATUSES.to_vec();
        }
        let mut chosen = Vec::new();
        for (flag, statuses) in [
            (self.deployed, &[Status::Deployed][..]),
            (self.failed, &[Status::Failed]),
            (
                self.pending,
                &[
                    Status::PendingInstall,
                    Status::PendingUpgrade,
                    Status::PendingRollback,
                ],
            ),
            (self.superseded, &[Status::Superseded]),
            (self.uninstalled, &[Status::Uninstalled]),
            (self.uninstalling, &[Status::Uninstalling]),
        ] {
            if flag {
                chosen.extend_from_slice(statuses);
            }
        }
        if chosen.is_empty() {
            Selection::default().statuses
        } else {
            chosen
        }
    }
}
