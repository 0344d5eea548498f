//! llama.cpp's own reader of GBNF as the judge, where `cargo xtask engine` has built it.

use std::path::{Path, PathBuf};
use std::process::Command;

use cuebook_decoding::emit::Target;
use cuebook_decoding::{Caps, read, specialise_with, write_lines};
use cuebook_grammar::arbitrary;
use cuebook_grammar::plan::Author;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::{accepts, byte_masks, caps, ground, sentences, text_of};

/// The validator that is built from llama.cpp's sources.
fn validator() -> Option<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/engine/bin/gbnf-validator");
    built.exists().then_some(built)
}

struct Judge {
    validator: PathBuf,
    folder: tempfile::TempDir,
}

impl Judge {
    fn accepts(&self, grammar: &str, text: &str) -> bool {
        let [grammar_file, text_file] = ["grammar.gbnf", "text"].map(|name| self.folder.path().join(name));
        std::fs::write(&grammar_file, grammar).unwrap();
        std::fs::write(&text_file, text).unwrap();
        let output = Command::new(&self.validator).args([&grammar_file, &text_file]).output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        match (said.contains("is valid according"), said.contains("is invalid according")) {
            (true, false) => true,
            (false, true) => false,
            _ => panic!("llama.cpp does not read this grammar: {said}\n{grammar}"),
        }
    }
}

#[test]
fn llama_cpp_reads_every_grammar_and_agrees_on_sentences() {
    // Built by `cargo xtask engine` only.
    let Some(validator) = validator() else { return };
    let judge = Judge { validator, folder: tempfile::tempdir().unwrap() };
    let mut runner = TestRunner::deterministic();
    let masks = byte_masks();
    let mut verdicts = [0, 0];
    for seed in 0..25 {
        let (observation, policy) = ground().new_tree(&mut runner).unwrap().current();
        let longest = Caps { answer: 2_000, text: 2_000, words: 2_000, reasoning: 2_000, ..caps() };
        let allowed = if seed % 5 == 0 { longest } else { caps() };
        let spec = specialise_with(&observation, &policy, &allowed);
        let grammar = text_of(Target::Gbnf, &spec);
        let lines = text_of(Target::Line, &spec);
        for sentence in sentences(&spec, seed, 2) {
            assert!(judge.accepts(&grammar, &sentence.to_string()), "{sentence}");
            let mut draft = read::read(&sentence.to_string(), Author::Model).unwrap();
            draft.reasoning_summary = None;
            let written = write_lines(&draft);
            assert!(judge.accepts(&lines, &written), "{written}");
            assert!(!judge.accepts(&lines, &written.replacen('(', "((", 1)), "{written}");
            let mutation = arbitrary::mutated(sentence.clone());
            for _ in 0..4 {
                let text = mutation.new_tree(&mut runner).unwrap().current().to_string();
                let expected = accepts(&masks, &spec, &text);
                assert_eq!(judge.accepts(&grammar, &text), expected, "{text}");
                verdicts[usize::from(expected)] += 1;
            }
        }
    }
    assert!(verdicts[0] > 50, "most mutations are refused: {verdicts:?}");
}
