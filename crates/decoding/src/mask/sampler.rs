//! The decode loop of an engine in this process: logits, mask, bias, sample, until the sentence ends.

use super::bias::Bias;
use super::line_scan::{AnyScan, LineScan};
use super::{Form, MaskError, Masks};
use crate::confidence::{TokenProbability, confidences};
use crate::opening::Openings;
use crate::read;
use crate::scan::Scan;
use crate::spec::GrammarSpec;

/// A model that predicts the next token.
pub trait Logits {
    /// Error of one prediction, returned as [`DecodeError::Engine`].
    type Error;

    /// The logits of the next token after `tokens`, one for each token of the vocabulary.
    ///
    /// # Errors
    /// If the engine fails.
    fn next(&mut self, tokens: &[u32]) -> Result<Vec<f32>, Self::Error>;
}

/// Options of a decode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecodeOptions {
    /// The form to write.
    pub form: Form,
    /// 0 for the most likely token, 1 for the engine's own distribution.
    pub temperature: f64,
    /// λ, the weight of costs: of risk, and of [failures](GrammarSpec::blaming). 0 ignores them.
    pub risk_aversion: f64,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self { form: Form::Json, temperature: 0.0, risk_aversion: 1.0 }
    }
}

/// A decoded sentence and how sure the model was of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// Text of the sentence, in the form of [`DecodeOptions::form`].
    pub text: String,
    /// Its tokens, without the end token.
    pub tokens: Vec<u32>,
    /// Bytes and probability under the mask of each of these tokens.
    pub probabilities: Vec<TokenProbability>,
    /// The [confidence](crate::confidences) of each step, the last one included, in order.
    pub confidences: Vec<f64>,
}

/// Why a decode returned no sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError<E> {
    /// The mask or its vocabulary failed.
    #[error(transparent)]
    Mask(#[from] MaskError),
    /// The engine could not predict the next token.
    #[error("the engine failed")]
    Engine(E),
}

/// Above this many allowed tokens nothing is weighed: a choice of verbs and ids allows far fewer.
const BRANCHES: usize = 4_096;

/// Decodes one sentence. `uniform` gives numbers from 0 up to 1.
///
/// # Errors
/// [`DecodeError`], also if the sentence does not end within its computed bound.
pub fn decode<L: Logits>(
    masks: &Masks,
    spec: &GrammarSpec,
    engine: &mut L,
    options: DecodeOptions,
    uniform: &mut dyn FnMut() -> f64,
) -> Result<Decoded, DecodeError<L::Error>> {
    let vocabulary = masks.vocabulary();
    let mut mask = masks.start(spec, options.form)?;
    let openings = Openings::of(spec.document());
    let bias = Bias { spec, openings: &openings, lambda: options.risk_aversion };
    let mut scan = match options.form {
        Form::Json => AnyScan::Json(Scan::default()),
        Form::Lines => AnyScan::Lines(LineScan::default()),
    };
    let mut tokens: Vec<u32> = Vec::new();
    let mut text: Vec<u8> = Vec::new();
    let mut probabilities = Vec::new();
    let bound = spec.max_tokens();
    loop {
        if tokens.len() as u64 > bound {
            return Err(MaskError::TooLong { bound }.into());
        }
        let allowed = mask.allowed()?;
        // Where the grammar leaves no choice, no model is asked.
        let logits = if allowed.count() == 1 { None } else { Some(engine.next(&tokens).map_err(DecodeError::Engine)?) };
        if let Some(logits) = logits.as_ref().filter(|logits| logits.len() != vocabulary.size()) {
            return Err(MaskError::BadLogits { expected: vocabulary.size(), seen: logits.len() }.into());
        }
        let logit = |token: u32| {
            let index = usize::try_from(token).ok();
            let value = index.and_then(|index| logits.as_ref()?.get(index)).copied().unwrap_or(f32::MIN);
            if value.is_nan() { f64::from(f32::MIN) } else { f64::from(value) }
        };
        let scale = if options.temperature > 0.0 { options.temperature } else { 1.0 };
        let mut weighed: Vec<(u32, f64)> = allowed.iter().map(|token| (token, logit(token) / scale)).collect();
        if options.risk_aversion > 0.0 && weighed.len() <= BRANCHES {
            for (token, weight) in &mut weighed {
                *weight += bias.of(&scan, vocabulary.token(*token));
            }
        }
        let Some((token, probability)) = pick(&weighed, options.temperature, uniform) else {
            return Err(MaskError::Grammar { detail: "no token may come next".to_owned() }.into());
        };
        if token == vocabulary.end() {
            break;
        }
        mask.accept(token)?;
        let bytes = vocabulary.token(token);
        text.extend_from_slice(bytes);
        tokens.push(token);
        probabilities.push(TokenProbability { bytes: bytes.to_vec(), probability });
        for byte in bytes {
            scan.take(*byte);
        }
        if mask.is_done() {
            break;
        }
    }
    let text = String::from_utf8(text).map_err(|error| MaskError::Grammar { detail: error.to_string() })?;
    let form = match options.form {
        Form::Json => read::Form::Plan,
        Form::Lines => read::Form::Lines,
    };
    let confidences = confidences(&text, form, &probabilities);
    Ok(Decoded { text, tokens, probabilities, confidences })
}

/// A token sampled by weight, and its probability.
fn pick(weighed: &[(u32, f64)], temperature: f64, uniform: &mut dyn FnMut() -> f64) -> Option<(u32, f64)> {
    let most = weighed.iter().map(|(_, weight)| *weight).fold(f64::NEG_INFINITY, f64::max);
    let likelihood = |weight: f64| (weight - most).exp();
    let sum: f64 = weighed.iter().map(|(_, weight)| likelihood(*weight)).sum();
    if temperature <= 0.0 {
        let best = weighed.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        return Some((best.0, likelihood(best.1) / sum));
    }
    let mut rest = uniform().clamp(0.0, 1.0) * sum;
    for (token, weight) in weighed {
        rest -= likelihood(*weight);
        if rest <= 0.0 {
            return Some((*token, likelihood(*weight) / sum));
        }
    }
    weighed.last().map(|(token, weight)| (*token, likelihood(*weight) / sum))
}
