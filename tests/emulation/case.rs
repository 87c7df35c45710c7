//! A case: a spec with its input, the plan and text made for it, and what must come out.

use stencilgen::Array;
use stencilgen::codegen::CudaSource;
use stencilgen::plan::{Device, Plan};
use stencilgen::reference::{self, Expected};
use stencilgen::spec::{SpecError, Stencil};

use super::draw::Drawn;

pub struct Case {
    /// Where the case is from, for messages.
    pub origin: String,
    /// The kernel's name, one of its own for each case: kernels are `extern "C"`.
    pub name: String,
    pub stencil: Stencil,
    pub plan: Plan,
    pub source: CudaSource,
    /// The field at the start, in the grid's type.
    pub input: Array,
    /// What the result must agree with.
    pub expected: Vec<Expected>,
}

impl Case {
    /// Plans and renders a spec, with the reference's result on the input as what is expected.
    ///
    /// # Errors
    /// If there is no such plan: a halo that does not fit into shared memory, for instance.
    pub fn new(drawn: Drawn) -> Result<Self, SpecError> {
        Self::on(&Device::assumed(), drawn, None)
    }

    /// The same for a card, with indices of `bits` bits, which the size of the grid decides otherwise.
    pub fn on(device: &Device, drawn: Drawn, bits: Option<u32>) -> Result<Self, SpecError> {
        let Drawn {
            origin,
            mut spec,
            input,
        } = drawn;
        let everything = format!("{origin} {spec:?} {input:?}");
        spec.name = format!("case_{:016x}", fingerprint(&everything));
        let stencil = Stencil::new(&spec)?;
        let mut plan = Plan::new(&stencil, device)?;
        if let Some(bits) = bits {
            plan.index_bits = bits;
        }
        let source = CudaSource::render(&plan, &stencil).expect("templates fit their contexts");
        assert_eq!(
            input.dtype(),
            stencil.dtype(),
            "{origin}: type of the input"
        );
        let expected = reference::run(&stencil, &input, stencil.steps());
        let expected = expected.unwrap_or_else(|e| panic!("{origin}: {e}"));
        Ok(Self {
            origin,
            name: spec.name,
            stencil,
            plan,
            source,
            input,
            expected: vec![expected],
        })
    }

    /// The case in words, with its spec in full: enough to run it again alone.
    pub fn describe(&self) -> String {
        let spec = serde_json::to_string(self.stencil.spec()).expect("a spec is JSON");
        format!(
            "{} ({:?}, tile {:?}, depth {}): {spec}",
            self.origin, self.plan.strategy, self.plan.tile, self.plan.temporal_depth
        )
    }
}

/// FNV-1a.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
