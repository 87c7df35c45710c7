//! Filling in a report from the values of the stages.

use serde_json::{Value, json};

use super::advice;
use super::types::{
    CacheReport, CacheStatus, DeviceFacts, Failure, Folded, KernelReport, LaunchReport, Operation,
    Optimization, Performance, Report, Status, StencilFacts, Times, TrafficSource,
};
use crate::cache;
use crate::codegen::kernel_name;
use crate::error::Error;
use crate::plan::{Device, Kernel, Model, Plan};
use crate::reference::Comparison;
use crate::spec::{Reach, Stencil, Strategy};
use crate::stability;
use crate::stencil::{CompiledStencil, CudaEngine, Execution};
use crate::tune::Tuned;
use crate::tuned::{Choice, ChosenBy};

impl Report {
    /// A report that says nothing yet.
    pub fn new(operation: Operation) -> Self {
        Self {
            operation,
            status: Status::Success,
            error: None,
            stencil: None,
            optimization: None,
            performance: Performance::default(),
            recommendations: Vec::new(),
            artifacts: Vec::new(),
            backend: None,
            fallback: None,
            device: None,
            schedule: None,
            chosen_by: None,
            kernel: None,
            further_kernels: Vec::new(),
            cache: None,
            model: None,
            stages: None,
            stability: None,
            resumed_from_step: None,
            not_finite: None,
            verification: None,
            tuning: None,
            stencilgen: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// Records a failure.
    pub fn failed(mut self, error: &Error) -> Self {
        self.status = Status::Error;
        self.error = Some(Failure {
            code: error.code().into(),
            message: error.to_string(),
            path: error.path(),
        });
        self
    }

    /// Adds a comparison with the reference; one that did not pass is a failure.
    pub fn with_verification(mut self, comparison: Comparison) -> Self {
        if !comparison.passed {
            self.status = Status::Error;
            self.error = Some(Failure {
                code: "verification-failed".into(),
                message: format!(
                    "{} of {} cells differ from the reference by more than rounding explains",
                    comparison.failures, comparison.cells
                ),
                path: None,
            });
        }
        self.verification = Some(comparison);
        self
    }

    /// Adds what the stencil is.
    pub fn with_stencil(mut self, stencil: &Stencil) -> Self {
        self.stencil = Some(StencilFacts {
            kind: format!("{}D", stencil.rank()),
            points: stencil.taps(),
            radius: reach(&stencil.reach()),
            boundary: fold(
                &stencil
                    .entries()
                    .iter()
                    .map(|faces| [json!(faces[0]), json!(faces[1])])
                    .collect::<Vec<_>>(),
            ),
            name: stencil.name().into(),
            grid: stencil.extents().to_vec(),
            dtype: stencil.dtype(),
            passes: stencil.updates().len(),
            steps: stencil.steps(),
        });
        if stencil.steps() > 1 && !stencil.dtype().is_integer() {
            self.stability = stability::analyse(stencil);
            let warning = self.stability.as_ref().and_then(|s| s.warning(stencil));
            self.recommendations
                .extend(warning.map(|warning| format!("warning: {warning}")));
        }
        self
    }

    /// Adds a plan that was made for a device which may not be at hand, the model's figures and its advice.
    pub fn with_plan(mut self, plan: &Plan, stencil: &Stencil, present: bool) -> Self {
        let model = plan.model(stencil);
        let main = &plan.fused[0];
        self.optimization = Some(Optimization {
            tile_size: plan.tile.clone(),
            shared_memory_bytes: main.shared_bytes,
            halo_size: reach(&main.halo),
            temporal_blocking: plan.temporal_depth > 1,
            strategy: strategy_name(plan.strategy).into(),
            temporal_depth: plan.temporal_depth,
        });
        self.device = Some(DeviceFacts {
            name: plan.device.name.clone(),
            target: Some(plan.device.target()),
            present,
        });
        self.schedule = Some(json!(plan.schedule()));
        let mut kernels = plan
            .kernels()
            .map(|k| kernel_report(k, stencil, &plan.device, &model))
            .collect::<Vec<_>>();
        self.further_kernels = kernels.split_off(1);
        self.kernel = kernels.pop();
        self.performance.peak_bandwidth_gbps = Some(plan.device.bandwidth_gbps);
        self.recommendations
            .extend(advice::of(plan, stencil, &model));
        self.model = Some(model);
        self
    }

    /// Adds what compiling gave: backend, kernels as compiled, cache, stages.
    pub fn with_compiled(mut self, compiled: &CompiledStencil) -> Self {
        let stencil = compiled.stencil();
        self.stages = Some(compiled.stages().clone());
        let Some(engine) = compiled.cuda() else {
            self.backend = Some("cpu".into());
            self.fallback = compiled.fallback().map(Into::into);
            self.device = Some(DeviceFacts {
                name: format!("CPU, threads: {}", rayon::current_num_threads()),
                target: None,
                present: true,
            });
            return self;
        };
        self.backend = Some("cuda".into());
        self = self.with_plan(engine.program.plan(), stencil, true);
        self.chosen_by = Some(engine.chosen_by);
        self.warns(engine.warning.as_deref());
        self.add_compiled_kernels(engine);
        self.cache = Some(CacheReport {
            status: match engine.built.status {
                cache::Status::Hit => CacheStatus::Hit,
                cache::Status::Miss => CacheStatus::Miss,
                cache::Status::Bypassed(_) => CacheStatus::Bypassed,
            },
            reason: match &engine.built.status {
                cache::Status::Bypassed(reason) => Some(reason.clone()),
                _ => None,
            },
            key: engine.built.key.to_string(),
            compile_ms: engine.built.compile_ms,
            load_ms: Some(engine.load_ms),
        });
        self
    }

    fn add_compiled_kernels(&mut self, engine: &CudaEngine) {
        let device = engine.program.gpu().device();
        let facts = engine.program.module().facts();
        let reports = self.kernel.iter_mut().chain(&mut self.further_kernels);
        for (report, facts) in reports.zip(&facts) {
            report.registers = Some(facts.registers);
            let [x, y, z] = report.launch.block;
            report.occupancy = device.occupancy(
                (x * y * z) as usize,
                facts.registers,
                report.launch.shared_memory_bytes,
            );
            // The driver's own count stands where it differs.
            report.occupancy.fraction *=
                f64::from(facts.resident_blocks) / f64::from(report.occupancy.blocks.max(1));
            report.occupancy.blocks = facts.resident_blocks;
            report.spill_bytes = engine
                .built
                .resources
                .iter()
                .find(|r| r.name == facts.name)
                .map(|r| r.spill_store_bytes + r.spill_load_bytes);
        }
        let kernels: Vec<&KernelReport> = self.kernel.iter().chain(&self.further_kernels).collect();
        self.recommendations
            .extend(advice::of_compiled(engine.program.plan(), &kernels));
    }

    /// Adds a run: its steps, times and stages, and what was seen in it.
    pub fn with_execution(mut self, compiled: &CompiledStencil, execution: &Execution) -> Self {
        self.stages = Some(execution.stages.clone());
        if let Some(seen) = execution.not_finite {
            self.recommendations.push(advice::of_not_finite(&seen));
            self.not_finite = Some(seen);
        }
        self.with_times(
            compiled,
            execution.steps,
            &execution.seconds,
            execution.copy_gbps,
        )
    }

    /// Adds what steps took, in seconds of all of them together, once or more often; and the bandwidth of a copy, if it was
    /// measured beside.
    pub(crate) fn with_times(
        mut self,
        compiled: &CompiledStencil,
        steps: u64,
        seconds: &[f64],
        copy_gbps: Option<f64>,
    ) -> Self {
        let stencil = compiled.stencil();
        let plan = compiled.cuda().map(|engine| engine.program.plan());
        self.performance.measured_copy_gbps = copy_gbps;
        self.performance.time = Times::of(seconds);
        if let Some(median) = self.performance.time.as_ref().map(|t| t.median_seconds) {
            self.add_rate(stencil, plan, steps, median);
        }
        self
    }

    /// Adds the figures that follow from the time of so many steps.
    fn add_rate(&mut self, stencil: &Stencil, plan: Option<&Plan>, steps: u64, seconds: f64) {
        let p = &mut self.performance;
        let updates = stencil.cells() as f64 * steps as f64;
        if updates == 0.0 || seconds <= 0.0 {
            return;
        }
        let rate = updates / seconds;
        let size = stencil.dtype().size() as f64;
        p.gstencils_per_second = Some(rate / 1e9);
        p.gflops = Some(rate * stencil.flops() as f64 / 1e9);
        p.effective_bandwidth_gbps = Some(rate * 2.0 * size / 1e9);
        if let Some(plan) = plan {
            let traffic = plan.traffic_bytes(stencil, steps);
            let achieved = traffic / seconds / 1e9;
            p.achieved_bandwidth_gbps = Some(achieved);
            p.arithmetic_intensity = Some(updates * stencil.flops() as f64 / traffic);
            p.traffic_source = Some(TrafficSource::Model);
            p.efficiency_percent = p.peak_bandwidth_gbps.map(|peak| 100.0 * achieved / peak);
        }
    }

    /// Adds what tuning found: the best plan with its kernel and rate, and all candidates.
    pub fn with_tuning(mut self, stencil: &Stencil, tuned: &Tuned) -> Self {
        self.backend = Some("cuda".into());
        self.device = Some(DeviceFacts {
            name: tuned.device.name.clone(),
            target: Some(tuned.device.target()),
            present: true,
        });
        if let (Some(plan), Some(best)) = (&tuned.plan, tuned.tuning.trials.first()) {
            self = self.with_plan(plan, stencil, true);
            self.chosen_by = Some(ChosenBy::Tuned);
            if let (Some(kernel), Some(facts)) = (&mut self.kernel, best.kernel) {
                kernel.registers = Some(facts.registers);
                kernel.spill_bytes = facts.spill_bytes;
                kernel.occupancy = facts.occupancy;
            }
            if let (Some(steps), Some(time)) = (best.steps, &best.time) {
                self.add_rate(stencil, Some(plan), steps, time.median_seconds);
            }
        }
        self.performance.measured_copy_gbps = tuned.copy_gbps;
        self.warns(tuned.warning.as_deref());
        self.artifacts.extend(tuned.tuning.kept_in.clone());
        self.tuning = Some(tuned.tuning.clone());
        self
    }

    /// Adds a warning to the recommendations.
    fn warns(&mut self, warning: Option<&str>) {
        let warning = warning.map(|warning| format!("warning: {warning}"));
        self.recommendations.extend(warning);
    }

    /// Adds the choice of a plan for a device which may not be at hand.
    pub fn with_choice(mut self, choice: &Choice, stencil: &Stencil, present: bool) -> Self {
        self = self.with_plan(&choice.plan, stencil, present);
        self.chosen_by = Some(choice.by);
        self.warns(choice.warning.as_deref());
        self
    }

    /// The recommendations that are warnings, from the given one on.
    pub fn warnings(&self, from: usize) -> impl Iterator<Item = &str> {
        let recommendations = self.recommendations.iter().skip(from);
        recommendations
            .map(String::as_str)
            .filter(|text| text.starts_with("warning: "))
    }

    /// The report as JSON text with a newline at its end.
    pub fn to_json(&self) -> String {
        // A report holds strings, finite numbers and lists alone.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

pub(super) fn strategy_name(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Tiled => "tiled",
        Strategy::Stream => "stream",
        Strategy::Auto | Strategy::Direct => "direct",
    }
}

fn kernel_report(
    kernel: &Kernel,
    stencil: &Stencil,
    device: &Device,
    model: &Model,
) -> KernelReport {
    let grid = kernel
        .launch(stencil.extents())
        .map_or([0; 3], |launch| launch.grid);
    KernelReport {
        name: kernel_name(stencil, kernel),
        registers: None,
        spill_bytes: None,
        occupancy: device.occupancy(
            kernel.threads(),
            model.registers_estimated,
            kernel.shared_bytes,
        ),
        launch: LaunchReport {
            grid,
            block: kernel.block,
            shared_memory_bytes: kernel.shared_bytes,
            chunk: kernel.chunk(stencil.extents()),
        },
    }
}

fn reach(axes: &[Reach]) -> Folded {
    let faces: Vec<[Value; 2]> = axes.iter().map(|r| [json!(r.lo), json!(r.hi)]).collect();
    fold(&faces)
}

/// One value if all faces have it; else one per axis, a pair where the faces of an axis differ.
fn fold(axes: &[[Value; 2]]) -> Folded {
    let first = axes.first().map(|faces| &faces[0]);
    match first {
        Some(value) if axes.iter().flatten().all(|v| v == value) => Folded::Same(value.clone()),
        _ => Folded::Each(
            axes.iter()
                .map(|[lo, hi]| {
                    if lo == hi {
                        lo.clone()
                    } else {
                        json!([lo, hi])
                    }
                })
                .collect(),
        ),
    }
}
