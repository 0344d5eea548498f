//! Exports to places that are no folder: object stores and collectors of OpenTelemetry.

use cuebook::environment;
use cuebook_datalayer::RunDir;
use cuebook_export::{Bucket, Collector, ExportError, Exported, Format, Options, export};
use cuebook_grammar::report::ErrorCode;
use tokio::runtime::Handle;
use url::Url;

use crate::exit::{Output, Refusal};
use crate::exporting::{in_temporary_folder, progress, refusal};

enum Place {
    Bucket(Bucket),
    Collector(Collector),
}

/// Exports runs to the place that `url` names.
pub(crate) async fn exported(
    url: &Url,
    runs: Vec<RunDir>,
    options: Options,
    output: Output,
) -> Result<Exported, Refusal> {
    let place = place(url, options.format)?;
    in_temporary_folder(move |out| {
        let options = Options { out, ..options };
        Handle::current().block_on(carry_out(&place, &runs, &options, output)).map_err(refusal)
    })
    .await
}

fn place(url: &Url, format: Format) -> Result<Place, Refusal> {
    if !matches!(url.scheme(), "http" | "https") {
        let settings = environment::variables(&["AWS_", "GOOGLE_", "AZURE_"]);
        return Bucket::open(url, settings).map(Place::Bucket).map_err(refusal);
    }
    if format != Format::Otlp {
        let message = format!("only --to otlp goes to a URL of {}, saw --to {}", url.scheme(), format.as_str());
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    }
    let headers = environment::variable("OTEL_EXPORTER_OTLP_HEADERS");
    Collector::open(url, headers.as_deref()).map(Place::Collector).map_err(refusal)
}

async fn carry_out(place: &Place, runs: &[RunDir], options: &Options, output: Output) -> Result<Exported, ExportError> {
    match place {
        Place::Bucket(bucket) => bucket.export(runs, options, &mut progress(output)).await,
        Place::Collector(collector) => {
            let exported = export(runs, options, &mut progress(output))?;
            collector.send(&options.out, &exported.written).await?;
            Ok(exported)
        }
    }
}
