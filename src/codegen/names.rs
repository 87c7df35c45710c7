//! Names from the user, made safe: the one place where a name becomes part of source text or of a file name.

/// Longest identifier made from a name.
const MAX_LENGTH: usize = 60;

/// Words that cannot name a kernel: keywords of CUDA C++, names that CUDA defines, and names that templates use.
const RESERVED: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t \
    char32_t class compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield \
    decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto if \
    inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public \
    register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch \
    template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile \
    wchar_t while xor xor_eq threadIdx blockIdx blockDim gridDim warpSize dim3 uint3 half main printf fma fmaf min max \
    abs real value_t cell_t result_t load store settled scaled turned beyond cell overflowed index_t outside in out start block std size_t \
    lane_t values_t piece_t min_of max_of wrapped from_left from_right rows";

/// Functions with C linkage that NVRTC declares in every text, of which no kernel can have the name; most exist with an
/// `f` behind, too. Found by compiling a kernel of each name that NVRTC 13.0 contains.
const FUNCTIONS: &str = "acos acosh asin asinh assert atan atan2 atanh cbrt ceil clock clock64 clock_t copysign cos cosh \
    cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs fdim fdivide floor fmax \
    fmin fmod free frexp hypot ilogb j0 j1 jn labs ldexp lgamma libraryPropertyType llabs llmax llmin llrint llround log \
    log10 log1p log2 logb lrint lround malloc memcpy memset modf nan nearbyint nextafter norm norm3d norm4d normcdf \
    normcdfinv pow ptrdiff_t rcbrt remainder remquo rhypot rint rnorm rnorm3d rnorm4d round rsqrt scalbln scalbn sin \
    sincos sincospi sinh sinpi sqrt tan tanh tgamma trunc ullmax ullmin umax umin va_arg va_copy va_end va_list va_start \
    y0 y1 yn";

/// Prefixes of the names that templates and CUDA give to their own parts.
const RESERVED_PREFIXES: [&str; 11] = [
    "sg_", "map_", "update", "add_", "store_", "beyond_", "inside_", "atomic", "surf", "tex",
    "cuda",
];

/// An identifier of CUDA C++ made from a user's name: letters, digits and underscores stay, anything else becomes an
/// underscore; what would not be a fresh identifier gets `stencil_` before it.
pub fn identifier(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '_' };
        if c != '_' || !text.ends_with('_') {
            text.push(c);
        }
        if text.len() == MAX_LENGTH {
            break;
        }
    }
    let text = text.trim_matches('_');
    let clashes = |t: &str| {
        t.chars().next().is_none_or(|c| c.is_ascii_digit())
            || RESERVED.split_whitespace().any(|word| word == t)
            || FUNCTIONS
                .split_whitespace()
                .any(|word| word == t || t.strip_suffix('f') == Some(word))
            || RESERVED_PREFIXES.iter().any(|p| t.starts_with(p))
            || is_constant(t)
    };
    if text.is_empty() {
        "stencil".into()
    } else if clashes(text) {
        format!("stencil_{text}")
    } else {
        text.into()
    }
}

/// `W12`, `O0`, `CUDA…` and other all-capital names, which may be constants or macros.
fn is_constant(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Names that Windows gives to devices, whatever the extension; `COM1` and `LPT1` to 9 are among them.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// The file that `emit` writes for a name.
pub fn file_stem(name: &str) -> String {
    if name == "stencil" {
        return "stencil_kernel".into();
    }
    let stem = identifier(name);
    let lower = stem.to_ascii_lowercase();
    let numbered = |device: &&str| {
        let number = lower.strip_prefix(*device);
        number.is_some_and(|n| n.len() == 1 && n.bytes().all(|c| c.is_ascii_digit()))
    };
    if DEVICES.contains(&lower.as_str()) || NUMBERED_DEVICES.iter().any(numbered) {
        return format!("stencil_{stem}");
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_become_identifiers() {
        assert_eq!(identifier("heat3d"), "heat3d");
        assert_eq!(identifier("for"), "stencil_for");
        assert_eq!(identifier("threadIdx"), "stencil_threadIdx");
        assert_eq!(identifier("a;b*/ {"), "a_b");
        assert_eq!(identifier("../../etc/passwd"), "etc_passwd");
        assert_eq!(identifier("7point"), "stencil_7point");
        assert_eq!(identifier("wärme"), "w_rme");
        assert_eq!(identifier("***"), "stencil");
        assert_eq!(identifier("__x"), "x");
        assert_eq!(identifier("update0"), "stencil_update0");
        assert_eq!(identifier("W0"), "stencil_W0");
        assert_eq!(identifier("norm"), "stencil_norm");
        assert_eq!(identifier("log2f"), "stencil_log2f");
        assert!(identifier(&"n".repeat(300)).len() <= MAX_LENGTH);
    }

    #[test]
    fn files_are_named_after_the_stencil() {
        assert_eq!(file_stem("stencil"), "stencil_kernel");
        assert_eq!(file_stem("heat/2"), "heat_2");
        assert_eq!(file_stem(".."), "stencil");
        for device in ["con", "Aux", "com1", "lpt9"] {
            assert_eq!(file_stem(device), format!("stencil_{device}"));
        }
        assert_eq!(file_stem("com"), "com");
        assert_eq!(file_stem("com10"), "com10");
    }
}
