//! Benchmarks of decoder grammars, and the decoding of ten thousand plans under the mask of a real vocabulary.
//!
//! `cargo xtask bench --decoding` and `cargo xtask soak --plans` build and run it:
//!
//! - `decoding plans COUNT SEED THREADS FILE` decodes plans from random logits on random pages and policies, judges
//!   each of them, and writes the results as JSON.
//! - `decoding measure FILE` measures, and writes the numbers as JSON.
//!
//! Invariant: nothing is judged here that the language does not judge itself; everything counted is in the file.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot be set up has failed")]

#[path = "../../tests/decode/ground.rs"]
mod ground;
mod measure;
mod page;
mod plans;
mod random;
mod vocabulary;

fn main() {
    // Cargo adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (results, file) = match words[..] {
        ["plans", count, seed, threads, file] => {
            (plans::run(count.parse().unwrap(), seed.parse().unwrap(), threads.parse().unwrap()), file)
        }
        ["measure", file] => (measure::run(), file),
        // Cargo runs every benchmark of a package without arguments.
        [] => return,
        _ => panic!("expected `plans COUNT SEED THREADS FILE` or `measure FILE`, saw {words:?}"),
    };
    std::fs::write(file, format!("{results:#}\n")).unwrap();
}
