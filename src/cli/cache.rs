//! `cache`: looks after the cache of compiled kernels.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use stencilgen::cache::{CacheError, Store};

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
    /// Count entries and bytes
    Stats,
    /// Check every entry against its manifest; exit code 1 if any is bad
    Verify,
    /// Remove all entries
    Clear,
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

fn act(action: Action, store: &Store) -> Result<(String, bool), CacheError> {
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
            let text = format!(
                "{} entries, {} of at most {} bytes\n",
                stats.entries, stats.bytes, stats.cap_bytes
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
            (text, bad.is_empty())
        }
        Action::Clear => {
            let cleared = store.clear()?;
            let text = format!(
                "removed {} entries, {} bytes\n",
                cleared.entries, cleared.bytes
            );
            (text, true)
        }
    })
}
