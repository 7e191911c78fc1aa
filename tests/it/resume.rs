//! Journals, and runs that go on where another ended (S-11.20 to S-11.30).
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use kzero_testkit::{FaultProxy, Kzero, MiniApi, Outcome, objects};
use serde_json::Value;

use crate::{kzero, live};

/// Three steps between two hooks; each script writes its name, and `b.sh` fails until there is a file `well`.
const PROFILE: &str = "hooks: {pre-down: ./pre.sh, post-down: ./post.sh, on-error: ./e.sh}\npipelines:\n  down:\n    - custom: ./a.sh\n    - custom: ./b.sh\n    - custom: ./c.sh\n";

fn place(api: &MiniApi) -> Kzero {
    let place = kzero().cluster(api).profile(&live(PROFILE));
    with_scripts(place)
}

fn with_scripts(mut place: Kzero) -> Kzero {
    for name in ["pre", "post", "e", "a", "c"] {
        place = place.script(&format!("{name}.sh"), &format!("echo {name} >>log\n"));
    }
    place.script("b.sh", "echo b >>log\ntest -e well\n")
}

/// The folder of the profile's state.
fn folder(place: &Kzero) -> PathBuf {
    let state = place.path(".local/state/kzero");
    let cluster = only_entry(&state);
    only_entry(&cluster)
}

fn only_entry(folder: &Path) -> PathBuf {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0)
}

fn journals(place: &Kzero) -> Vec<PathBuf> {
    let mut found: Vec<_> = std::fs::read_dir(folder(place))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
        .collect();
    found.sort();
    found
}

fn lines(journal: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(journal).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn run_id(journal: &Path) -> String {
    lines(journal)[0]["run"].as_str().unwrap().to_owned()
}

fn failed(place: &Kzero) -> Outcome {
    let outcome = place.run_with(["down"]);
    outcome.assert_code(3);
    assert_eq!(place.read("log"), "pre\na\nb\ne\n");
    outcome
}

#[test]
fn what_had_finished_is_skipped_and_the_rest_is_done() {
    // S-11.24, S-11.26
    let api = MiniApi::start_blocking();
    let place = place(&api);
    failed(&place);
    let first = run_id(&journals(&place)[0]);
    let place = place.file("well", "");
    let outcome = place.run_with(["resume"]);
    outcome
        .assert_code(0)
        .assert_stdout(&format!("(run {first}), which failed at down[1]"))
        .assert_stdout(&format!(
            "[live] skip hook pre-down (finished in run {first})"
        ))
        .assert_stdout(&format!("[live] skip down[0] (finished in run {first})"));
    // The step that had failed runs as a whole.
    assert_eq!(place.read("log"), "pre\na\nb\ne\nb\nc\npost\n");
    let all = journals(&place);
    let second = lines(&all[1]);
    assert_eq!(second[0]["resumes"], first.as_str());
    assert_eq!(second[0]["command"], "down");
    assert_eq!(second.last().unwrap()["item"], "run");
    assert_eq!(second.last().unwrap()["ok"], true);
    place
        .run_with(["resume"])
        .assert_code(0)
        .assert_stdout("nothing to resume: the run ")
        .assert_stdout("(down) succeeded");
    assert_eq!(journals(&place).len(), 2, "nothing was done");
}

#[test]
fn a_resumed_run_that_fails_is_resumed_with_all_that_was_finished_before() {
    let api = MiniApi::start_blocking();
    let place = place(&api);
    failed(&place);
    place.run_with(["resume"]).assert_code(3);
    let place = place.file("well", "");
    let first = run_id(&journals(&place)[0]);
    place
        .run_with(["down", "--resume"])
        .assert_code(0)
        .assert_stdout(&format!("skip down[0] (finished in run {first})"));
    assert_eq!(place.read("log"), "pre\na\nb\ne\nb\ne\nb\nc\npost\n");
}

#[test]
fn a_journal_says_what_begins_before_it_does() {
    // S-11.20: each script finds its own begin as the last line.
    let api = MiniApi::start_blocking();
    let mut place = kzero().cluster(&api).profile(&live(PROFILE));
    for name in ["pre", "post", "a", "b", "c", "e"] {
        place = place.script(
            &format!("{name}.sh"),
            "tail -qn 1 .local/state/kzero/*/*/*.jsonl >>seen\n",
        );
    }
    place.run_with(["down"]).assert_code(0);
    let seen: Vec<Value> = place
        .read("seen")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let begun = |item: &str| {
        seen.iter()
            .any(|line| line["item"] == item && line["event"] == "begin")
    };
    assert_eq!(seen.len(), 5);
    for item in [
        "hook pre-down",
        "down[0]",
        "down[1]",
        "down[2]",
        "hook post-down",
    ] {
        assert!(begun(item), "{item}: {seen:?}");
    }
    let header = &lines(&journals(&place)[0])[0];
    assert_eq!(header["format"], 1);
    assert_eq!(header["kzero"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        header["profile"],
        place.path("kzero.yaml").to_str().unwrap()
    );
    assert_eq!(header["plan"][2]["label"], "custom: ./c.sh");
    assert!(
        header["cluster"]["server"]
            .as_str()
            .unwrap()
            .starts_with("http")
    );
}

#[test]
fn state_is_for_its_user_alone() {
    let api = MiniApi::start_blocking();
    let place = place(&api).file("well", "");
    place.run_with(["down"]).assert_code(0);
    let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder(&place)), 0o700);
    assert_eq!(mode(place.path(".local/state/kzero")), 0o700);
    assert_eq!(mode(journals(&place)[0].clone()), 0o600);
}

#[test]
fn a_run_is_not_resumed_with_another_profile() {
    // S-11.21, S-11.25: what changed first is named; times and messages do not count.
    let api = MiniApi::start_blocking();
    let rows = [
        (
            PROFILE.replace("./c.sh", "./c.sh --all"),
            "down[2] custom: ./c.sh --all was down[2] custom: ./c.sh then",
        ),
        (
            PROFILE.replace("    - custom: ./c.sh\n", ""),
            "down[2] custom: ./c.sh",
        ),
        (
            PROFILE.replace("{pre-down: ./pre.sh", "{pre-down: ./a.sh"),
            "hooks.pre-down has changed",
        ),
    ];
    for (profile, what) in rows {
        let place = place(&api);
        failed(&place);
        let place = place
            .profile(&live(&profile))
            .script("c.sh --all", "true\n");
        let outcome = place.run_with(["resume"]);
        outcome
            .assert_code(1)
            .assert_stderr("cannot resume run ")
            .assert_stderr(what)
            .assert_stderr("begin anew with kzero down");
        assert_eq!(place.read("log"), "pre\na\nb\ne\n", "{what}");
    }
    let place = place(&api);
    failed(&place);
    let place = place.script("c.sh", "echo other >>log\n");
    place
        .run_with(["resume"])
        .assert_code(1)
        .assert_stderr("file ./c.sh has changed");
    let timed = PROFILE.replace("custom: ./c.sh", "custom: ./c.sh\n      timeout: 5m");
    let place = with_scripts(place)
        .profile(&live(&format!(
            "retry: {{attempts: 2, delay: 1ms}}\n{timed}"
        )))
        .file("well", "");
    place.run_with(["resume"]).assert_code(0);
}

#[test]
fn a_run_is_not_resumed_on_another_cluster() {
    // S-11.25. The names of both are the same. Behind another address may be the same cluster, and is by its uid.
    let api = MiniApi::start_blocking();
    let place = place(&api);
    failed(&place);
    let proxy = FaultProxy::for_mini(&api);
    let path = api.kubeconfig(place.dir());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace(&api.url(), &proxy.url())).unwrap();
    let resumed = place.run_with(["resume", "--dry-run"]);
    resumed.assert_code(0).assert_stdout("skip down[0]");
    place
        .run_with(["resume"])
        .assert_code(3)
        .assert_stdout("skip down[0]");
    let log = "pre\na\nb\ne\nb\ne\n";
    assert_eq!(place.read("log"), log);
    let other = MiniApi::start_blocking();
    other.deny("get", "namespaces");
    let place = place.cluster(&other).file("well", "");
    place
        .run_with(["resume"])
        .assert_code(1)
        .assert_stderr("it acted on the cluster ")
        .assert_stderr(&other.url());
    assert_eq!(place.read("log"), log);
}

#[test]
fn only_the_command_asked_for_is_resumed() {
    let api = MiniApi::start_blocking();
    let profile = PROFILE.to_owned() + "  up:\n    - custom: ./a.sh\n";
    let place = place(&api).profile(&live(&profile));
    place
        .run_with(["resume"])
        .assert_code(0)
        .assert_stdout("nothing to resume: no run of this profile has a journal in ");
    failed(&place);
    place
        .run_with(["up", "--resume"])
        .assert_code(0)
        .assert_stdout("is a down, not a up");
    // A night that was broken off must not be gone on with when the morning has been.
    place.run_with(["up"]).assert_code(0);
    let log = place.read("log");
    place
        .run_with(["resume"])
        .assert_code(0)
        .assert_stdout("(up) succeeded");
    assert_eq!(place.read("log"), log);
    let first = run_id(&journals(&place)[0]);
    let place = place.file("well", "");
    place
        .run_with(["resume", &first])
        .assert_code(0)
        .assert_stdout("other runs followed run ");
    place
        .run_with(["resume", "../../x"])
        .assert_code(1)
        .assert_stderr("there is no journal of run ../../x");
}

#[test]
fn what_flags_left_out_stays_left_out() {
    // S-11.24, S-11.28, S-11.29
    let api = MiniApi::start_blocking();
    let place = place(&api);
    place
        .run_with(["down", "--skip", "custom: ./c.sh"])
        .assert_code(3);
    let place = place.file("well", "");
    place
        .run_with(["resume"])
        .assert_code(0)
        .assert_stdout("left out: down[2] custom: ./c.sh");
    assert_eq!(place.read("log"), "pre\na\nb\ne\nb\npost\n");
    place
        .run_with(["down", "--resume", "--from", "1"])
        .assert_code(1);
}

#[test]
fn a_dry_run_shows_what_a_resume_would_do_and_leaves_nothing() {
    let api = MiniApi::start_blocking();
    let place = place(&api);
    failed(&place);
    api.clear_requests();
    place
        .run_with(["resume", "--dry-run"])
        .assert_code(0)
        .assert_stdout("[dry-run] skip down[0] (finished in run ");
    assert_eq!(journals(&place).len(), 1);
    assert!(api.writes().is_empty(), "{:?}", api.writes());
    assert_eq!(place.read("log"), "pre\na\nb\ne\n");
}

#[test]
fn twenty_journals_are_kept() {
    // S-11.22
    let api = MiniApi::start_blocking();
    let place = place(&api).file("well", "");
    place.run_with(["down"]).assert_code(0);
    let text = std::fs::read_to_string(&journals(&place)[0]).unwrap();
    for number in 0..40 {
        let name = format!("20200101T0000{number:02}.000Z-1.jsonl");
        std::fs::write(folder(&place).join(name), &text).unwrap();
    }
    place.run_with(["down"]).assert_code(0);
    let kept = journals(&place);
    assert_eq!(kept.len(), 20);
    assert!(kept[0].to_str().unwrap().contains("20200101T000022"));
}

#[test]
fn without_a_place_to_write_the_run_goes_on() {
    // S-11.23
    let api = MiniApi::start_blocking();
    let place = place(&api).file("well", "").file("taken", "a file");
    let path = place.path("taken/state");
    let place = place.env("KZERO_STATE_DIR", path);
    place
        .run_with(["down"])
        .assert_code(0)
        .assert_stdout("no journal, this run cannot be resumed: cannot write ");
    assert_eq!(place.read("log"), "pre\na\nb\nc\npost\n");
}

#[test]
fn a_journal_that_was_cut_or_changed_is_told() {
    let api = MiniApi::start_blocking();
    let place = place(&api);
    failed(&place);
    let journal = journals(&place).remove(0);
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, text.replacen("\"begin\"", "\"began\"", 1)).unwrap();
    place
        .run_with(["resume"])
        .assert_code(1)
        .assert_stderr("is broken at line 2");
    std::fs::write(&journal, text.replacen("\"format\":1", "\"format\":2", 1)).unwrap();
    place
        .run_with(["resume"])
        .assert_code(1)
        .assert_stderr("has format 2, this kzero reads 1");
    std::fs::write(&journal, &text[..40]).unwrap();
    place
        .run_with(["resume"])
        .assert_code(1)
        .assert_stderr("is broken at line 1: its first line is incomplete")
        .assert_stderr("begin anew");
}

#[test]
fn nothing_secret_is_in_a_journal() {
    // S-11.30
    let api = MiniApi::start_blocking();
    let secret = "hunter2-and-more";
    let profile = format!(
        "client: {{id: me}}\nnotify: {{slack: {{webhook_url: \"https://hooks.example/{secret}\"}}}}\npipelines:\n  down:\n    - exec.a/p: {{container: c, command: [login, \"{secret}\"]}}\n    - deployment.a/b\n"
    );
    api.apply(objects::namespace("a"));
    let place = kzero().cluster(&api).profile(&live(&profile));
    assert_ne!(place.run_with(["down"]).code, 0);
    let text = std::fs::read_to_string(&journals(&place)[0]).unwrap();
    assert!(!text.contains(secret), "{text}");
}

#[test]
fn a_death_at_any_byte_of_the_journal_leaves_a_run_that_can_be_resumed() {
    // The file may grow to so many bytes; the write beyond them kills the process.
    let api = MiniApi::start_blocking();
    let whole = {
        let place = place(&api).file("well", "");
        place.run_with(["down"]).assert_code(0);
        std::fs::read_to_string(&journals(&place)[0]).unwrap()
    };
    let ends: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at + 1).collect();
    assert!(ends.len() > 10, "{whole}");
    for end in ends {
        // Ids of processes differ in length, and so do lines: a line is torn, or the one before it is the last.
        for at in [end, end.saturating_sub(20)] {
            let place = with_scripts(
                Kzero::new("/usr/bin/prlimit")
                    .args([&format!("--fsize={at}"), "--core=0", "--"])
                    .arg(env!("CARGO_BIN_EXE_kzero"))
                    .cluster(&api)
                    .profile(&live(PROFILE)),
            )
            .file("well", "");
            let outcome = place.run_with(["down"]);
            if outcome.signal.is_none() {
                assert_eq!(outcome.code, 0, "{outcome:?}");
                continue;
            }
            let before = std::fs::read_to_string(place.path("log")).unwrap_or_default();
            let survivor = kzero().cluster(&api).profile(&live(PROFILE));
            let survivor = with_scripts(survivor)
                .file("well", "")
                .env("KZERO_STATE_DIR", place.path(".local/state/kzero"))
                .env("PWD", place.dir());
            let resumed = survivor
                .args(["-C"])
                .arg(place.dir().as_os_str().to_owned())
                .run_with(["resume"]);
            resumed.assert_code(0);
            if journals(&place).is_empty() {
                // It died at the first line: nothing had begun.
                assert_eq!(before, "", "{at}");
                resumed.assert_stdout("nothing to resume");
                continue;
            }
            let log = place.read("log");
            let done: Vec<&str> = log.lines().collect();
            for name in ["pre", "a", "b", "c", "post"] {
                let times = done.iter().filter(|done| **done == name).count();
                // What was killed between effect and journal runs again, and nothing else.
                assert!((1..=2).contains(&times), "{at} {name}: {log}");
            }
            assert!(done.len() <= 6, "{at}: {log}");
        }
    }
}
