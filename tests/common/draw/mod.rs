//! Specs with inputs, drawn from everything that a spec can say and spread evenly over each of its parts; for tests that
//! hold what is made of them against the reference.

pub mod boundaries;
pub mod cells;
pub mod corners;
pub mod inputs;
pub mod once;
pub mod random;
pub mod schedules;
pub mod shapes;
pub mod streams;
pub mod weights;

use serde_json::{Value, json};
use stencilgen::{Array, DType, Spec, Stencil};

use boundaries::Faces;
use inputs::Magnitude;
use random::{Deck, Random};
use schedules::Way;
use shapes::Kind;
use weights::{Style, Weights};

/// Most cells of a grid: what the emulation and the reference compute quickly.
const MAX_CELLS: usize = 1500;

/// A spec and a field to start from.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// Where it is from, for messages.
    pub origin: String,
    pub spec: Spec,
    pub input: Array,
}

impl Drawn {
    /// From a spec as JSON, which has its grid.
    pub fn new(origin: impl Into<String>, spec: &Value, input: Array) -> Self {
        Self {
            origin: origin.into(),
            spec: read(spec),
            input,
        }
    }

    pub fn scheduled(mut self, way: Way) -> Self {
        self.spec.schedule = way.schedule(self.input.shape().len());
        self
    }
}

/// Reads a spec that has to be right.
pub fn read(spec: &Value) -> Spec {
    Spec::from_value(spec).unwrap_or_else(|e| panic!("{spec}: {e}"))
}

/// Specs without end; the same ones for the same seed.
pub struct Draw {
    seed: u64,
    drawn: usize,
    random: Random,
    /// All pairs of a type and a way to run.
    runs: Deck<(DType, Way)>,
    kinds: Deck<Kind>,
    ranks: Deck<usize>,
    faces: Deck<Faces>,
    steps: Deck<u64>,
    roomy: Deck<bool>,
    styles: Deck<Style>,
    magnitudes: Deck<Magnitude>,
    integers: Deck<Magnitude>,
    outputs: Deck<Option<DType>>,
    overflows: Deck<Option<&'static str>>,
    ignore_nan: Deck<bool>,
    run_time: Deck<bool>,
    fast_math: Deck<bool>,
    streaming: bool,
}

impl Draw {
    /// Run directly and in tiles.
    pub fn new(seed: u64) -> Self {
        Self::of(seed, schedules::all(), &[1, 2, 2, 3, 3], false)
    }

    /// Run by `stream`, on grids that are wide enough for it, of so many axes.
    pub fn streaming(seed: u64, ranks: &[usize]) -> Self {
        Self::of(seed, Way::streaming(), ranks, true)
    }

    fn of(seed: u64, ways: Vec<Way>, ranks: &[usize], streaming: bool) -> Self {
        let runs: Vec<(DType, Way)> = DType::ALL
            .into_iter()
            .flat_map(|dtype| ways.iter().map(move |way| (dtype, *way)))
            .collect();
        let mut styles = vec![Style::Fractions; 8];
        styles.extend([Style::Whole; 3]);
        styles.extend([Style::Tiny, Style::NotFinite]);
        let mut magnitudes = vec![Magnitude::Usual; 6];
        magnitudes.extend([Magnitude::Large, Magnitude::Small]);
        let mut integers = vec![Magnitude::Usual; 3];
        integers.extend([Magnitude::Large, Magnitude::Small, Magnitude::Small]);
        let mut outputs: Vec<Option<DType>> = vec![None; 2 * DType::ALL.len()];
        outputs.extend(DType::ALL.map(Some));
        let one_in = |n: usize| {
            let mut cards = vec![false; n];
            cards[0] = true;
            Deck::new(&cards)
        };
        Self {
            seed,
            drawn: 0,
            random: Random::new(seed),
            runs: Deck::new(&runs),
            kinds: Deck::new(&Kind::ALL),
            ranks: Deck::new(ranks),
            faces: Deck::new(&Faces::all()),
            steps: Deck::new(&[0, 1, 1, 1, 2, 2, 3, 3, 5, 7]),
            roomy: Deck::new(&[false, true, true]),
            styles: Deck::new(&styles),
            magnitudes: Deck::new(&magnitudes),
            integers: Deck::new(&integers),
            outputs: Deck::new(&outputs),
            overflows: Deck::new(&[None, Some("saturate"), Some("wrap"), Some("error")]),
            ignore_nan: one_in(3),
            run_time: one_in(5),
            fast_math: one_in(12),
            streaming,
        }
    }
}

impl Iterator for Draw {
    type Item = Drawn;

    fn next(&mut self) -> Option<Drawn> {
        loop {
            let mut drawn = self.draw();
            if !self.streaming {
                return Some(drawn);
            }
            // What it does not compute says nothing.
            if Stencil::new(&drawn.spec).is_err() {
                return Some(drawn);
            }
            // Chunks, spans and rings of all lengths, where they can be.
            let random = &mut self.random;
            let mut other = drawn.spec.clone();
            let chunk = random.pick(&[2, 3, 5, 8, 13, 100]);
            let schedule = &mut other.schedule;
            if drawn.input.shape().len() == 1 {
                schedule.cells_per_thread = Some(random.pick(&[1, 2, 4, 8, 16, 32]));
            } else {
                schedule.cells_per_thread = Some(random.pick(&[1, 2, 4, 8]));
                schedule.prefetch_depth = Some(random.pick(&[1, 2, 3, 6]));
            }
            let specs = [other, drawn.spec.clone()].into_iter();
            let planned =
                specs.filter_map(|spec| streams::in_chunks(&spec, chunk).or(if_planned(spec)));
            if let Some(spec) = planned.into_iter().next() {
                drawn.spec = spec;
                return Some(drawn);
            }
        }
    }
}

/// The spec, if it can be planned.
fn if_planned(spec: Spec) -> Option<Spec> {
    streams::plan_of(&spec).is_some().then_some(spec)
}

impl Draw {
    fn draw(&mut self) -> Drawn {
        let random = &mut self.random;
        let (dtype, way) = self.runs.draw(random);
        let rank = self.ranks.draw(random);
        let roomy = self.roomy.draw(random);
        let grid = match self.streaming {
            true => wide_extents(rank, random),
            false => extents(rank, roomy, random),
        };
        let output = self.outputs.draw(random).filter(|o| {
            // The same type again says nothing, and complex results are those of complex grids.
            *o != dtype && o.is_complex() == dtype.is_complex()
        });
        let mut steps = self.steps.draw(random);
        if output.is_some() {
            // Without a step there is nothing to store as another type.
            steps = steps.max(1);
        }
        let weights = Weights {
            style: self.styles.draw(random),
            complex: dtype.is_complex() && random.below(3) > 0,
        };
        let kind = self.kinds.draw(random);
        let mut spec = json!({
            "grid": grid,
            "dtype": dtype.name(),
            "stencil": shapes::stencil(kind, rank, weights, random),
            "boundary": boundaries::boundary(self.faces.draw(random), rank, dtype, random),
            "steps": steps,
            "weights_at_run_time": self.run_time.draw(random),
            "fast_math": self.fast_math.draw(random),
        });
        if let Some(output) = output {
            spec["output_dtype"] = json!(output.name());
        }
        let is_integer = dtype.is_integer() || output.is_some_and(DType::is_integer);
        let mut magnitude = if dtype.is_integer() {
            self.integers.draw(random)
        } else {
            self.magnitudes.draw(random)
        };
        if is_integer && let Some(overflow) = self.overflows.draw(random) {
            spec["overflow"] = json!(overflow);
            if overflow == "error" && random.below(4) > 0 {
                // What fails is not compared further.
                magnitude = Magnitude::Small;
            }
        }
        if !dtype.is_integer() && !dtype.is_complex() && self.ignore_nan.draw(random) {
            spec["ignore_nan"] = json!(true);
            if Stencil::new(&read(&spec)).is_err() {
                // The weights add up to 0.
                spec["ignore_nan"] = json!(false);
            }
        }
        let mut spec = read(&spec);
        // It makes zeros of denormals, which the reference keeps.
        spec.fast_math &= magnitude != Magnitude::Small && weights.style != Style::Tiny;
        spec.schedule = way.with_tile(tile(rank, random));
        if self.streaming {
            spec.schedule.cells_per_thread = Some(random.pick(&[1, 1, 2]));
            spec.schedule.rows_per_thread = Some(random.pick(&[1, 2, 3])).filter(|_| rank == 3);
            let prefetch = match way.depth() {
                1 => random.pick(&[1, 1, 2, 3]),
                _ => random.pick(&[2, 3, 4]),
            };
            spec.schedule.prefetch_depth = Some(prefetch).filter(|_| rank > 1);
            spec.schedule.threads = Some(random.pick(&[32, 64]));
        }
        if way.is_tiled() && random.below(3) == 0 {
            spec.schedule.threads = Some(random.pick(&[32, 64, 96, 160]));
        }
        let mut input = inputs::values(grid.iter().product(), dtype, magnitude, random);
        if spec.ignore_nan {
            inputs::sprinkle_nan(&mut input, random);
        }
        if random.below(12) == 0 {
            inputs::sprinkle_special(&mut input, random);
        }
        self.drawn += 1;
        Drawn {
            origin: format!("sample {}.{}", self.seed, self.drawn),
            spec,
            input: inputs::array(grid, dtype, input),
        }
    }
}

/// Extents: 1, 2 and 3, primes, one off the edges of tiles, some with room for tiles that lie wholly inside.
fn extents(rank: usize, large: bool, random: &mut Random) -> Vec<usize> {
    let (awkward, roomy): (&[usize], &[usize]) = match rank {
        1 => (
            &[1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17],
            &[29, 31, 33, 47, 63, 64, 65, 97, 128],
        ),
        2 => (
            &[1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 11, 15, 16, 17],
            &[19, 23, 25, 29, 31, 32, 33, 41],
        ),
        _ => (&[1, 1, 2, 2, 3, 4, 5, 7, 8, 9], &[8, 9, 10, 11, 12, 13, 14]),
    };
    loop {
        let extents: Vec<usize> = (0..rank)
            .map(|_| random.pick(if large { roomy } else { awkward }))
            .collect();
        if extents.iter().product::<usize>() <= MAX_CELLS {
            return extents;
        }
    }
}

/// Extents for `stream`: at least a warp along the fastest axis.
fn wide_extents(rank: usize, random: &mut Random) -> Vec<usize> {
    let x = random.pick(&[32, 33, 35, 38, 40, 47, 64, 65, 70, 72, 96, 101, 130, 132]);
    let y = random.pick(&[5, 6, 7, 8, 9, 11, 13]);
    let z = random.pick(&[5, 6, 7, 9, 10, 12]);
    match rank {
        1 => vec![random.pick(&[x, 5 * x, 257, 1024, 1101])],
        2 => vec![random.pick(&[5, 7, 9, 10, 13, 17, 24, 31]), x],
        _ => vec![z, y, x],
    }
}

fn tile(rank: usize, random: &mut Random) -> Vec<usize> {
    match rank {
        1 => random.pick(&[vec![3], vec![4], vec![5], vec![7], vec![8], vec![16]]),
        2 => random.pick(&[
            vec![4, 4],
            vec![8, 8],
            vec![4, 8],
            vec![8, 4],
            vec![5, 7],
            vec![7, 5],
            vec![3, 16],
            vec![1, 9],
        ]),
        _ => random.pick(&[
            vec![4, 4, 4],
            vec![8, 8, 8],
            vec![2, 4, 8],
            vec![5, 3, 7],
            vec![4, 8, 4],
            vec![3, 2, 5],
        ]),
    }
}
