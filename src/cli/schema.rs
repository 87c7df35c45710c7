//! `schema`: the JSON Schemas of spec and report.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use schemars::schema_for;
use serde_json::json;
use stencilgen::Spec;
use stencilgen::report::Report;

use super::options::{print, tell};

#[derive(Args)]
pub struct Schema {
    /// Which of the two; both, under the keys "spec" and "report", if left out
    #[arg(value_enum)]
    of: Option<Document>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Document {
    Spec,
    Report,
}

impl Schema {
    pub fn main(self) -> ExitCode {
        let (spec, report) = (schema_for!(Spec), schema_for!(Report));
        let value = match self.of {
            Some(Document::Spec) => json!(spec),
            Some(Document::Report) => json!(report),
            None => json!({"spec": spec, "report": report}),
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
