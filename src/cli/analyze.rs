//! `analyze`: what the model says of a stencil's plan.

use std::process::ExitCode;

use clap::Args;
use stencilgen::report::{Operation, Report};
use stencilgen::text::shown;
use stencilgen::{CacheChoice, Error};

use super::options::{ReportArgument, Target, tell};
use super::spec::SpecArgument;

#[derive(Args)]
pub struct Analyze {
    #[command(flatten)]
    spec: SpecArgument,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    report: ReportArgument,
}

impl Analyze {
    pub fn main(self) -> ExitCode {
        let mut report = Report::new(Operation::Analyze);
        let result = self.run(&mut report);
        self.report.finish(report, result)
    }

    fn run(&self, report: &mut Report) -> Result<bool, Error> {
        self.report.check(&[self.spec.place()], &[])?;
        let (stencil, plan) = self
            .target
            .plan(&self.spec, &CacheChoice::Default, report)?;
        let model = plan.model(&stencil);
        let present = report.device.as_ref().is_some_and(|d| d.present);
        tell(format!(
            "{} on {}{}",
            shown(stencil.name()),
            plan.device.name,
            if present {
                ""
            } else {
                " (from the table of cards)"
            }
        ));
        let line = |what: &str, value: String| tell(format!("  {what:<34}{value}"));
        line(
            "FLOP per cell and step",
            format!("{}", model.flops_per_cell),
        );
        line(
            "device memory traffic",
            format!("{:.2} B per cell and step", model.traffic_bytes_per_cell),
        );
        line(
            "arithmetic intensity",
            format!(
                "{:.2} FLOP/B (ridge {:.1}; every tap from memory {:.2})",
                model.arithmetic_intensity, model.ridge_intensity, model.uncached_intensity
            ),
        );
        line(
            "halo share of what a tile reads",
            format!("{:.1} %", 100.0 * model.halo_share),
        );
        line(
            "updates computed per update kept",
            format!("{:.2}", model.redundancy),
        );
        line(
            "occupancy (registers estimated)",
            format!("{:.0} %", 100.0 * model.occupancy.fraction),
        );
        line(
            "predicted",
            format!(
                "{:.0} GStencil/s, bound by {:?}",
                model.gstencils_per_second, model.bound
            ),
        );
        for advice in &report.recommendations {
            tell(format!("  - {advice}"));
        }
        Ok(true)
    }
}
