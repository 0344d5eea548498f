//! Formats of exports, and the share of a run's data that goes with them.

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $( $(#[$doc:meta])* $variant:ident = $word:literal, )+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name { $( $(#[$doc])* #[serde(rename = $word)] $variant, )+ }

        impl $name {
            /// Every value, in order of declaration.
            pub const ALL: [Self; [$(Self::$variant),+].len()] = [$(Self::$variant),+];

            /// The word on the command line.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $word, )+ }
            }
        }
    };
}

words! {
    /// The format of an export.
    Format {
        /// Tables `runs`, `steps`, `conditions`, `candidates`, `requests` and `planning`, partitioned by date.
        Parquet = "parquet",
        /// One step a line, with the fields of a plain step log.
        StepLog = "steplog",
        /// Examples for supervised fine-tuning: chats of a request and a plan, as OpenAI's API reads them.
        Sft = "sft",
        /// A folder that Hugging Face `datasets` loads: the same examples in splits, with a card.
        HuggingFace = "hf",
        /// Pairs of a step that failed and the one that worked on the same page.
        Preferences = "preferences",
        /// One trace a run, for the viewer of Playwright.
        PlaywrightTrace = "playwright-trace",
        /// One test a run, for Playwright's runner.
        PlaywrightTest = "playwright-test",
        /// One recording a run: its plan with ways to find each target, and what came of each step.
        Recording = "recording",
        /// One HTTP archive a run.
        Har = "har",
        /// One action a line, with the fields of Multimodal-Mind2Web.
        Mind2Web = "mind2web",
        /// Vectors of pages and of the plans made for them, as a table for stores of vectors, partitioned by date.
        Vectors = "vectors",
        /// OpenTelemetry spans, as OTLP in JSON, one file a run.
        Otlp = "otlp",
    }
}

words! {
    /// Data removed from a run before it is exported. Secrets of the run are not in its log, and so in no export.
    Redaction {
        /// Nothing more than the log leaves out.
        None = "none",
        /// Texts, values, pictures, and of URLs the user, query, fragment and every part of the path that may identify
        /// a person or a thing. The structure stays: verbs, roles, test ids, verdicts, causes, times, counts, hosts.
        Strict = "strict",
    }
}
