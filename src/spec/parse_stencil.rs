//! The stencil part of a spec, from JSON: shapes and presets.

use super::node::{Fields, Node, nearest};
use super::types::{
    Arms, Nested, Operation, PerAxis, Point, Preset, Shape, StencilSpec, default_accuracy,
    default_diffusivity, default_order, default_spacing, default_truncate,
};
use super::{MAX_OFFSET, SpecError};
use crate::complex::Weight;
use crate::text::shown;

pub(super) fn stencil(node: &Node) -> Result<StencilSpec, SpecError> {
    let kind = |key: &str| {
        node.value
            .get(key)
            .map(|value| Node {
                path: format!("{}.{key}", node.path),
                value,
            })
            .filter(|_| node.value.is_object())
    };
    if let Some(name) = kind("shape") {
        let name = name.choice(&["star", "box", "points", "separable"])?;
        return shape(node, name).map(StencilSpec::Shape);
    }
    if let Some(name) = kind("preset") {
        let name = name.choice(&[
            "laplacian",
            "heat",
            "derivative",
            "gaussian",
            "mean",
            "sobel",
        ])?;
        return preset(node, name).map(StencilSpec::Preset);
    }
    let remedy = "an object with \"shape\" (star, box, points, separable) or \"preset\" (laplacian, heat, derivative, \
                  gaussian, mean, sobel) is needed";
    let misspelt = node.value.as_object().and_then(|map| {
        map.keys()
            .find_map(|k| nearest(k, &["shape", "preset"]).map(|near| (k, near)))
    });
    Err(match misspelt {
        Some((key, near)) => SpecError::new(
            format!("{}.{}", node.path, shown(key)),
            format!("unknown key \"{}\"", shown(key)),
            format!("did you mean {near:?}? Here {remedy}"),
        ),
        None => node.error(remedy),
    })
}

fn shape(node: &Node, name: &str) -> Result<Shape, SpecError> {
    Ok(match name {
        "star" => {
            let f = node.fields(&["shape", "radius", "center", "arms"])?;
            let arms = f.need("arms")?;
            let entries = || arms.items("weights, or of one list of weights per axis");
            Shape::Star {
                radius: f.need("radius").and_then(|n| match n.size(0)? {
                    radius if radius <= MAX_OFFSET as usize => Ok(radius),
                    _ => Err(n.error(format!("a radius of at most {MAX_OFFSET} is needed"))),
                })?,
                center: f.need("center")?.weight()?,
                arms: if entries()?.any(|n| n.is_list()) {
                    Arms::PerAxis(entries()?.map(|n| n.weights()).collect::<Result<_, _>>()?)
                } else {
                    Arms::Same(arms.weights()?)
                },
            }
        }
        "box" => {
            let f = node.fields(&["shape", "weights", "origin", "operation"])?;
            Shape::Box {
                weights: nested(&f.need("weights")?)?,
                origin: origin(&f)?,
                operation: operation(&f)?,
            }
        }
        "points" => {
            let f = node.fields(&["shape", "points"])?;
            let points = f.need("points")?;
            let points = points.items("points")?;
            Shape::Points {
                points: points.map(|n| point(&n)).collect::<Result<_, _>>()?,
            }
        }
        _ => {
            let f = node.fields(&["shape", "weights", "origin", "operation"])?;
            let filters = f.need("weights")?;
            let filters = filters.items("filters, one per axis")?;
            Shape::Separable {
                weights: filters.map(|n| n.weights()).collect::<Result<_, _>>()?,
                origin: origin(&f)?,
                operation: operation(&f)?,
            }
        }
    })
}

fn preset(node: &Node, name: &str) -> Result<Preset, SpecError> {
    let accuracy = |f: &Fields| f.or("accuracy", default_accuracy(), |n| n.size(0));
    let spacing = |f: &Fields| {
        f.or("spacing", default_spacing(), |n| {
            per_axis(n, Node::positive)
        })
    };
    Ok(match name {
        "laplacian" => {
            let f = node.fields(&["preset", "accuracy", "spacing"])?;
            Preset::Laplacian {
                accuracy: accuracy(&f)?,
                spacing: spacing(&f)?,
            }
        }
        "heat" => {
            let f = node.fields(&["preset", "diffusivity", "dt", "spacing", "accuracy"])?;
            Preset::Heat {
                diffusivity: f.or("diffusivity", default_diffusivity(), Node::number)?,
                dt: f.need("dt")?.number()?,
                spacing: spacing(&f)?,
                accuracy: accuracy(&f)?,
            }
        }
        "derivative" => {
            let f = node.fields(&["preset", "axis", "order", "accuracy", "spacing"])?;
            Preset::Derivative {
                axis: f.need("axis")?.size(0)?,
                order: f.or("order", default_order(), |n| n.size(0))?,
                accuracy: accuracy(&f)?,
                spacing: spacing(&f)?,
            }
        }
        "gaussian" => {
            let f = node.fields(&["preset", "sigma", "truncate"])?;
            let not_negative = |n: &Node| {
                let v = n.number()?;
                if v >= 0.0 {
                    Ok(v)
                } else {
                    Err(n.error("a number of at least 0 is needed"))
                }
            };
            Preset::Gaussian {
                sigma: per_axis(&f.need("sigma")?, not_negative)?,
                truncate: f.or("truncate", default_truncate(), not_negative)?,
            }
        }
        "mean" => {
            let f = node.fields(&["preset", "size"])?;
            Preset::Mean {
                size: per_axis(&f.need("size")?, |n| n.size(1))?,
            }
        }
        _ => {
            let f = node.fields(&["preset", "axis"])?;
            Preset::Sobel {
                axis: f.need("axis")?.size(0)?,
            }
        }
    })
}

fn point(node: &Node) -> Result<Point, SpecError> {
    let f = node.fields(&["offset", "weight"])?;
    let offset = f.need("offset")?;
    let offset = offset.items("whole numbers, one per axis")?;
    Ok(Point {
        offset: offset.map(|n| n.integer()).collect::<Result<_, _>>()?,
        weight: f.need("weight")?.weight()?,
    })
}

fn origin(f: &Fields) -> Result<PerAxis<i64>, SpecError> {
    f.or("origin", PerAxis::default(), |n| per_axis(n, Node::integer))
}

fn operation(f: &Fields) -> Result<Operation, SpecError> {
    f.or("operation", Operation::default(), |n| {
        Ok(match n.choice(&["correlate", "convolve"])? {
            "convolve" => Operation::Convolve,
            _ => Operation::Correlate,
        })
    })
}

fn per_axis<'a, T>(
    node: &Node<'a>,
    read: impl Fn(&Node<'a>) -> Result<T, SpecError>,
) -> Result<PerAxis<T>, SpecError> {
    if node.is_list() {
        let items = node.items("one entry per axis")?;
        Ok(PerAxis::Each(
            items.map(|n| read(&n)).collect::<Result<_, _>>()?,
        ))
    } else {
        read(node).map(PerAxis::Same)
    }
}

fn nested(node: &Node) -> Result<Nested, SpecError> {
    fn walk(
        node: &Node,
        level: usize,
        extents: &mut Vec<usize>,
        values: &mut Vec<Weight>,
    ) -> Result<(), SpecError> {
        if !node.is_list() {
            if level != extents.len() {
                return Err(node.error(format!("weights are nested {} deep here", extents.len())));
            }
            values.push(node.weight()?);
            return Ok(());
        }
        let mut items = node.items("weights")?;
        if items.len() == 0 {
            return Err(node.error("at least one weight is needed"));
        }
        if values.is_empty() && level == extents.len() {
            extents.push(items.len());
        }
        match extents.get(level) {
            Some(&n) if n == items.len() => {}
            Some(n) => {
                return Err(node.error(format!(
                    "every list at this depth has {n} entries; this one has {}",
                    items.len()
                )));
            }
            None => {
                return Err(node.error(format!("weights are nested {} deep here", extents.len())));
            }
        }
        items.try_for_each(|item| walk(&item, level + 1, extents, values))
    }
    let (mut extents, mut values) = (Vec::new(), Vec::new());
    if !node.is_list() {
        return Err(node.error("weights in nested lists are needed"));
    }
    walk(node, 0, &mut extents, &mut values)?;
    Nested::new(extents, values)
        .ok_or_else(|| node.error("weights nested evenly, every level of one length, are needed"))
}
