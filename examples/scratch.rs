use stencilgen::{spec::*,plan::*,codegen::*};
fn main(){ let t=std::env::args().nth(1).unwrap(); let s=Spec::from_json(&t).unwrap(); let s=Stencil::new(&s).unwrap(); let p=Plan::new(&s,&Device::assumed()).unwrap(); match CudaSource::render(&p,&s){Ok(c)=>println!("{}",c.text),Err(e)=>println!("{e}")} }
