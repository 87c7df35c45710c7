//! `cache`: looks after the cache of compiled kernels, and after the tuned schedules beside it.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use stencilgen::cache::{CacheError, Store};
use stencilgen::tuned::{TunedError, TunedStore};

use super::options::{CacheArguments, print, tell};

#[derive(Args)]
pub struct Cache {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    cache: CacheArguments,
}

#[derive(Subcommand, Clone, Copy)]
enum Action {
    /// Print the directory
    Path,
    /// List the entries, most recently used first
    List,
    /// Count entries, bytes and tuned schedules
    Stats,
    /// Check every entry against its manifest, and the files of tuned schedules; exit code 1 if any is bad
    Verify,
    /// Remove all entries; tuned schedules stay, unless they are asked for too
    Clear {
        /// Remove tuned schedules as well
        #[arg(long)]
        tuned: bool,
    },
}

impl Cache {
    pub fn main(self) -> ExitCode {
        let store = self.cache.choice().store();
        match act(self.action, &store) {
            Ok((text, sound)) => match print(&text) {
                Ok(()) if sound => ExitCode::SUCCESS,
                Ok(()) => ExitCode::FAILURE,
                Err(message) => fail(&message),
            },
            Err(error) => fail(&error.to_string()),
        }
    }
}

fn fail(message: &str) -> ExitCode {
    tell(format!("error: {message}"));
    ExitCode::FAILURE
}

/// What the file system refuses to either store.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error(transparent)]
    Tuned(#[from] TunedError),
}

fn act(action: Action, store: &Store) -> Result<(String, bool), Refused> {
    let tuned = TunedStore::beside(store);
    Ok(match action {
        Action::Path => match store.root() {
            Some(root) => (format!("{}\n", root.display()), true),
            None => ("no cache\n".into(), false),
        },
        Action::List => {
            let lines = store.list()?.into_iter().map(|entry| {
                format!(
                    "{}  {:>9} B  {:<8} {}\n",
                    entry.key,
                    entry.bytes,
                    entry.info["target"].as_str().unwrap_or("?"),
                    entry.info["name"].as_str().unwrap_or("?").escape_debug()
                )
            });
            (lines.collect(), true)
        }
        Action::Stats => {
            let stats = store.stats()?;
            let (summary, faults) = tuned.survey()?;
            let text = format!(
                "{} entries, {} of at most {} bytes\n{}",
                stats.entries,
                stats.bytes,
                stats.cap_bytes,
                schedules(summary.schedules, summary.devices, faults.len())
            );
            (text, true)
        }
        Action::Verify => {
            let bad = store.verify()?;
            let mut text: String = bad
                .iter()
                .map(|entry| format!("bad: {}: {}\n", entry.path.display(), entry.fault))
                .collect();
            let good = store.stats()?.entries.saturating_sub(bad.len() as u64);
            text += &format!("{good} entries are sound, {} are not\n", bad.len());
            if !bad.is_empty() {
                text += "bad entries mend themselves when they are next needed; `cache clear` removes them\n";
            }
            let (summary, faults) = tuned.survey()?;
            for fault in &faults {
                text += &format!("bad: {fault}\n");
            }
            text += &schedules(summary.schedules, summary.devices, faults.len());
            (text, bad.is_empty() && faults.is_empty())
        }
        Action::Clear { tuned: all } => {
            let cleared = store.clear()?;
            let mut text = format!(
                "removed {} entries, {} bytes\n",
                cleared.entries, cleared.bytes
            );
            let (summary, _) = tuned.survey()?;
            if all {
                text += &format!(
                    "removed {} tuned schedules, {} files\n",
                    summary.schedules,
                    tuned.clear()?
                );
            } else if summary.schedules > 0 {
                text += &format!(
                    "{} tuned schedules stay; `cache clear --tuned` removes them\n",
                    summary.schedules
                );
            }
            (text, true)
        }
    })
}

/// A line on the tuned schedules.
fn schedules(schedules: usize, devices: usize, damaged: usize) -> String {
    let damaged = match damaged {
        0 => String::new(),
        damaged => format!(", {damaged} damaged files"),
    };
    format!("{schedules} tuned schedules for {devices} devices{damaged}\n")
}
