//! From a plan to CUDA C.
//!
//! A [`CudaSource`] is the complete text of one module: head comment, prelude, and the plan's kernels. It compiles alone,
//! without any include, and depends on nothing but the stencil's weights and boundary, its types, the schedule and the
//! architecture, so that one text (and one cache entry) serves every grid and number of steps. The templates are Tera
//! files in `templates/`, embedded in the binary; [`context`] decides all that they place.

mod cells;
mod context;
mod faces;
mod head;
mod kernels;
mod literal;
mod marching;
mod names;
#[cfg(test)]
mod tests;
mod updates;
mod watch;

pub use names::{file_stem, identifier};
pub use updates::looped_updates;
pub use watch::WatchSource;

use std::sync::LazyLock;

use tera::Tera;
use thiserror::Error;

use crate::plan::{Kernel, Plan};
use crate::spec::{Stencil, Strategy};

/// A template that failed to render: a fault of stencilgen, not of its input.
#[derive(Debug, Error)]
#[error(
    "template {template}: {message}; this is a fault in stencilgen, please report it with the spec"
)]
pub struct CodegenError {
    /// The template.
    pub template: &'static str,
    /// What went wrong.
    pub message: String,
}

/// The text of a module and the names of its kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CudaSource {
    /// CUDA C, prelude included.
    pub text: String,
    /// The same in parts that compile alone, at the same time: one for each list of kernels that the plan has. Their kernels are
    /// those of the text, in its order. Empty where there is but one list.
    pub parts: Vec<String>,
    /// `extern "C"` names of the plan's kernels, in the order of [`Plan::kernels`].
    pub kernels: Vec<String>,
    /// The array of weights that are set at run time, if they are.
    pub weights: Option<&'static str>,
}

const TEMPLATES: [(&str, &str); 13] = [
    ("prelude.cu", include_str!("../../templates/prelude.cu")),
    (
        "prelude_half.cu",
        include_str!("../../templates/prelude_half.cu"),
    ),
    ("head.cu.tera", include_str!("../../templates/head.cu.tera")),
    (
        "direct.cu.tera",
        include_str!("../../templates/direct.cu.tera"),
    ),
    (
        "tiled.cu.tera",
        include_str!("../../templates/tiled.cu.tera"),
    ),
    (
        "prelude_store.cu",
        include_str!("../../templates/prelude_store.cu"),
    ),
    (
        "stream_once.cu.tera",
        include_str!("../../templates/stream_once.cu.tera"),
    ),
    (
        "stream.cu.tera",
        include_str!("../../templates/stream.cu.tera"),
    ),
    (
        "stream_row.cu.tera",
        include_str!("../../templates/stream_row.cu.tera"),
    ),
    (
        "stream_1d.cu.tera",
        include_str!("../../templates/stream_1d.cu.tera"),
    ),
    (
        "stream_2d.cu.tera",
        include_str!("../../templates/stream_2d.cu.tera"),
    ),
    (
        "stream_3d.cu.tera",
        include_str!("../../templates/stream_3d.cu.tera"),
    ),
    (
        "watch.cu.tera",
        include_str!("../../templates/watch.cu.tera"),
    ),
];

static ENGINE: LazyLock<Result<Tera, String>> = LazyLock::new(|| {
    let mut engine = Tera::new();
    engine.autoescape_on(Vec::<&str>::new());
    engine
        .add_raw_templates(TEMPLATES)
        .map_err(|e| e.to_string())?;
    Ok(engine)
});

/// A template filled in.
fn render(template: &'static str, context: &impl serde::Serialize) -> Result<String, CodegenError> {
    let fault = |message: String| CodegenError { template, message };
    let engine = ENGINE.as_ref().map_err(|e| fault(e.clone()))?;
    let context = tera::Context::from_serialize(context).map_err(|e| fault(e.to_string()))?;
    let text = engine
        .render(template, &context)
        .map_err(|e| fault(e.to_string()))?;
    Ok(text.trim_start().to_owned() + "\n")
}

/// The `extern "C"` name of a kernel of a stencil's plan.
pub fn kernel_name(stencil: &Stencil, kernel: &Kernel) -> String {
    format!("{}{}", identifier(stencil.name()), kernel.suffix)
}

impl CudaSource {
    /// Renders a plan.
    ///
    /// # Errors
    /// [`CodegenError`] if a template does not fit its context.
    pub fn render(plan: &Plan, stencil: &Stencil) -> Result<Self, CodegenError> {
        let kernels: Vec<String> = plan.kernels().map(|k| kernel_name(stencil, k)).collect();
        let lists = plan.lists().into_iter();
        let lists: Vec<_> = lists.filter(|(list, _)| !list.is_empty()).collect();
        let parts = match lists[..] {
            [_] => Vec::new(),
            _ => {
                let parts = lists.iter();
                let parts = parts.map(|(list, depth)| text(&plan.with_only(list, *depth), stencil));
                parts.collect::<Result<_, _>>()?
            }
        };
        Ok(Self {
            text: text(plan, stencil)?,
            parts,
            kernels,
            weights: stencil.weights_at_run_time().then_some("W"),
        })
    }
}

/// The text of a plan's kernels.
fn text(plan: &Plan, stencil: &Stencil) -> Result<String, CodegenError> {
    let template = match plan.strategy {
        Strategy::Tiled => "tiled.cu.tera",
        Strategy::Stream if plan.is_once() => "stream_once.cu.tera",
        Strategy::Stream if stencil.rank() == 3 => "stream_3d.cu.tera",
        Strategy::Stream if stencil.rank() == 2 => "stream_2d.cu.tera",
        Strategy::Stream => "stream_1d.cu.tera",
        Strategy::Auto | Strategy::Direct => "direct.cu.tera",
    };
    let kernels: Vec<String> = plan.kernels().map(|k| kernel_name(stencil, k)).collect();
    let head = head::lines(plan, stencil, &kernels);
    let context = context::Context::new(plan, stencil, head);
    render(template, &context)
}
