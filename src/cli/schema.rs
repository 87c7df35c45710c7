//! `schema`: the JSON Schemas of spec, report and benchmark results.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use schemars::schema_for;
use serde_json::json;
use stencilgen::Spec;
use stencilgen::bench::Results;
use stencilgen::report::Report;

use super::options::{print, tell};

#[derive(Args)]
pub struct Schema {
    /// Which of them; all, under the keys "spec", "report" and "bench", if left out
    #[arg(value_enum)]
    of: Option<Document>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Document {
    Spec,
    Report,
    Bench,
}

impl Schema {
    pub fn main(self) -> ExitCode {
        let (spec, report) = (schema_for!(Spec), schema_for!(Report));
        let bench = schema_for!(Results);
        let value = match self.of {
            Some(Document::Spec) => json!(spec),
            Some(Document::Report) => json!(report),
            Some(Document::Bench) => json!(bench),
            None => json!({"spec": spec, "report": report, "bench": bench}),
        };
        match print(&format!("{value:#}\n")) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => {
                tell(format!("error: {message}"));
                ExitCode::FAILURE
            }
        }
    }
}
