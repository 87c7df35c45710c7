//! The NVRTC functions, resolved from one library file.
//!
//! All `unsafe` calls into NVRTC are made in this file. Result codes are taken as plain
//! integers: a newer NVRTC may return codes that cudarc's enum does not have, and such a
//! value must not become a Rust enum. NVRTC is safe to call from several threads as long
//! as each has its own program, which [`Program`] ensures by owning the handle.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::ptr;

use cudarc::nvrtc::sys::{nvrtcProgram, nvrtcResult};
use libloading::Library;

use super::error::Error;

type RawResult = u32;
type GetSize = unsafe extern "C" fn(nvrtcProgram, *mut usize) -> RawResult;
type GetBytes = unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> RawResult;
type Texts = *const *const c_char;

/// Defines [`Api`] and its loading from one list of the functions, so that a field cannot
/// be resolved from another function's name.
macro_rules! api {
    ($($function:ident: $signature:ty,)*) => {
        #[derive(Debug)]
        #[allow(non_snake_case)] // the functions' own names, as in NVRTC's manual
        pub(super) struct Api { $($function: $signature,)* }

        impl Api {
            /// Resolves the functions. The library must stay loaded as long as they live.
            pub(super) fn resolve(library: &Library, path: &Path) -> Result<Api, Error> {
                Ok(Api { $(
                    // SAFETY: the signature is the one NVRTC documents for this name since 12.0.
                    $function: *unsafe {
                        library.get::<$signature>(concat!(stringify!($function), "\0"))
                    }
                    .map_err(|source| Error::Symbol {
                        path: path.to_path_buf(),
                        symbol: stringify!($function),
                        source,
                    })?,
                )* })
            }
        }
    };
}

api! {
    nvrtcVersion: unsafe extern "C" fn(*mut c_int, *mut c_int) -> RawResult,
    nvrtcGetNumSupportedArchs: unsafe extern "C" fn(*mut c_int) -> RawResult,
    nvrtcGetSupportedArchs: unsafe extern "C" fn(*mut c_int) -> RawResult,
    nvrtcGetErrorString: unsafe extern "C" fn(RawResult) -> *const c_char,
    nvrtcCreateProgram: unsafe extern "C" fn(
        *mut nvrtcProgram, *const c_char, *const c_char, c_int, Texts, Texts,
    ) -> RawResult,
    nvrtcDestroyProgram: unsafe extern "C" fn(*mut nvrtcProgram) -> RawResult,
    nvrtcCompileProgram: unsafe extern "C" fn(nvrtcProgram, c_int, Texts) -> RawResult,
    nvrtcGetProgramLogSize: GetSize,
    nvrtcGetProgramLog: GetBytes,
    nvrtcGetCUBINSize: GetSize,
    nvrtcGetCUBIN: GetBytes,
    nvrtcGetPTXSize: GetSize,
    nvrtcGetPTX: GetBytes,
}

impl Api {
    /// The version as (major, minor).
    pub(super) fn version(&self) -> Result<(u32, u32), Error> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are valid for the call.
        let result = unsafe { (self.nvrtcVersion)(&mut major, &mut minor) };
        self.check("nvrtcVersion", result)?;
        Ok((major.unsigned_abs(), minor.unsigned_abs()))
    }

    /// The architectures that code can be made for, ascending; 90 for sm_90.
    pub(super) fn supported_archs(&self) -> Result<Vec<u32>, Error> {
        let mut count = 0;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { (self.nvrtcGetNumSupportedArchs)(&mut count) };
        self.check("nvrtcGetNumSupportedArchs", result)?;
        let mut archs: Vec<c_int> = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: the array has as many elements as NVRTC says it will write.
        let result = unsafe { (self.nvrtcGetSupportedArchs)(archs.as_mut_ptr()) };
        self.check("nvrtcGetSupportedArchs", result)?;
        let mut archs: Vec<u32> = archs.into_iter().map(c_int::unsigned_abs).collect();
        archs.sort_unstable();
        Ok(archs)
    }

    fn check(&self, function: &'static str, result: RawResult) -> Result<(), Error> {
        if result == nvrtcResult::NVRTC_SUCCESS as RawResult {
            return Ok(());
        }
        let result = self.describe(result);
        Err(Error::Call { function, result })
    }

    /// Name and number of a result code; a code unknown to this NVRTC has a name, too.
    fn describe(&self, result: RawResult) -> String {
        // SAFETY: the function takes any value and returns a static string.
        let name = unsafe { (self.nvrtcGetErrorString)(result) };
        if name.is_null() {
            return format!("result {result}");
        }
        // SAFETY: not null, and NUL-terminated by NVRTC's contract.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        format!("{name} ({result})")
    }
}

/// A text to be compiled, owned by NVRTC until dropped.
pub(super) struct Program<'a> {
    api: &'a Api,
    handle: nvrtcProgram,
}

impl<'a> Program<'a> {
    pub(super) fn new(api: &'a Api, source: &CStr, name: &CStr) -> Result<Self, Error> {
        let mut handle = ptr::null_mut();
        // SAFETY: the texts are NUL-terminated and copied by NVRTC; with no headers the two
        // arrays may be null.
        let result = unsafe {
            (api.nvrtcCreateProgram)(
                &mut handle,
                source.as_ptr(),
                name.as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        api.check("nvrtcCreateProgram", result)?;
        Ok(Program { api, handle })
    }

    /// Compiles. An error is the result's name; the reasons are in the log.
    pub(super) fn compile(&self, options: &[CString]) -> Result<(), String> {
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let Ok(count) = c_int::try_from(pointers.len()) else {
            return Err(format!("{} options are too many", pointers.len()));
        };
        // SAFETY: the handle is alive; `count` pointers to NUL-terminated texts.
        let result =
            unsafe { (self.api.nvrtcCompileProgram)(self.handle, count, pointers.as_ptr()) };
        if result == nvrtcResult::NVRTC_SUCCESS as RawResult {
            Ok(())
        } else {
            Err(self.api.describe(result))
        }
    }

    pub(super) fn log(&self) -> Result<String, Error> {
        let api = self.api;
        let bytes = self.bytes(
            ("nvrtcGetProgramLogSize", api.nvrtcGetProgramLogSize),
            ("nvrtcGetProgramLog", api.nvrtcGetProgramLog),
        )?;
        // Parts of the log may be joined by NUL bytes: what ptxas says of too much shared
        // memory stands behind one.
        Ok(String::from_utf8_lossy(&bytes).replace('\0', ""))
    }

    /// Empty if the program was compiled for a virtual architecture.
    pub(super) fn cubin(&self) -> Result<Vec<u8>, Error> {
        let api = self.api;
        self.bytes(
            ("nvrtcGetCUBINSize", api.nvrtcGetCUBINSize),
            ("nvrtcGetCUBIN", api.nvrtcGetCUBIN),
        )
    }

    /// The text without the NUL that NVRTC puts behind it.
    pub(super) fn ptx(&self) -> Result<Vec<u8>, Error> {
        let api = self.api;
        let mut bytes = self.bytes(
            ("nvrtcGetPTXSize", api.nvrtcGetPTXSize),
            ("nvrtcGetPTX", api.nvrtcGetPTX),
        )?;
        while bytes.last() == Some(&0) {
            bytes.pop();
        }
        Ok(bytes)
    }

    fn bytes(
        &self,
        (size_name, get_size): (&'static str, GetSize),
        (name, get): (&'static str, GetBytes),
    ) -> Result<Vec<u8>, Error> {
        let mut size = 0;
        // SAFETY: the handle is alive and the pointer is valid for the call.
        let result = unsafe { get_size(self.handle, &mut size) };
        self.api.check(size_name, result)?;
        let mut bytes = vec![0_u8; size];
        if size > 0 {
            // SAFETY: the buffer has the size that NVRTC says it will fill.
            let result = unsafe { get(self.handle, bytes.as_mut_ptr().cast()) };
            self.api.check(name, result)?;
        }
        Ok(bytes)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle came from nvrtcCreateProgram and is destroyed once. A failure
        // leaks the program; there is nobody to tell.
        unsafe { (self.api.nvrtcDestroyProgram)(&mut self.handle) };
    }
}
